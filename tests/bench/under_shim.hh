// SPDX-License-Identifier: LGPL-2.1-or-later
// Programs that run under the counting shim: they start themselves again with it preloaded and with
// the CUDA module of tests/shared_cudart, both where the build tree and the GPU bundle have them.
#pragma once

#include <cstring>
#include <string>

namespace holoflow::bench {

/// Whether run_again_under_shim has started this process.
[[nodiscard]] bool runs_under_shim();

/// Replaces the process. `tests` is the folder tests/ as seen from the program's own folder, such
/// as "..". Throws std::runtime_error where the shim is not there.
[[noreturn]] void run_again_under_shim(const std::string &tests, char **argv);

/// A function of the preloaded shim by name. Throws std::runtime_error where it was not loaded.
[[nodiscard]] void *find_in_shim(const char *name);

template <typename Function> [[nodiscard]] Function shim_function(const char *name) {
  Function function = nullptr;
  void *symbol = find_in_shim(name);
  static_assert(sizeof(function) == sizeof(symbol));
  std::memcpy(&function, &symbol, sizeof(function));
  return function;
}

}  // namespace holoflow::bench
