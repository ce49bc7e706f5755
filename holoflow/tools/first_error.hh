// SPDX-License-Identifier: LGPL-2.1-or-later
// Several threads work, one of them fails.
#pragma once

#include <exception>
#include <mutex>
#include <utility>

namespace holoflow::tools {

/// The first error of any thread.
class FirstError {
public:
  /// True where it is the first.
  bool keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr)
      return false;
    error_ = std::move(error);
    return true;
  }
  /// Null where there is none.
  [[nodiscard]] std::exception_ptr get() {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  void rethrow() {
    if (const auto error = get())
      std::rethrow_exception(error);
  }

private:
  std::mutex mutex_;  // guards error_
  std::exception_ptr error_;
};

}  // namespace holoflow::tools
