// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests of what an environment variable would change.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace holoflow::test {

/// Takes a variable out of the environment, and puts it back in the end.
class ClearedVariable {
public:
  explicit ClearedVariable(const char *name) : name_(name) {
    if (const char *value = std::getenv(name))
      before_ = value;
    ::unsetenv(name);
  }
  ClearedVariable(const ClearedVariable &) = delete;
  ClearedVariable &operator=(const ClearedVariable &) = delete;
  ~ClearedVariable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

private:
  const char *const name_;
  std::optional<std::string> before_;
};

}  // namespace holoflow::test
