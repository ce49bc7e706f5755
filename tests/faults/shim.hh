// SPDX-License-Identifier: LGPL-2.1-or-later
// The preloaded counting shim, as tests call it.
#pragma once

#include "tests/bench/counting_shim.hh"
#include "tests/bench/under_shim.hh"

namespace holoflow::faults {

struct Shim {
  template <typename Function> static Function find(const char *name) {
    return bench::shim_function<Function>(name);
  }
  decltype(&holoflow_shim_reset) reset = find<decltype(reset)>("holoflow_shim_reset");
  decltype(&holoflow_shim_calls) calls = find<decltype(calls)>("holoflow_shim_calls");
  decltype(&holoflow_shim_fail) fail = find<decltype(fail)>("holoflow_shim_fail");
  decltype(&holoflow_shim_fail_from) fail_from =
      find<decltype(fail_from)>("holoflow_shim_fail_from");
  decltype(&holoflow_shim_failed) failed = find<decltype(failed)>("holoflow_shim_failed");
  decltype(&holoflow_shim_alive) alive = find<decltype(alive)>("holoflow_shim_alive");
};

/// Throws std::runtime_error where the shim was not loaded.
inline const Shim &shim() {
  static const Shim functions;
  return functions;
}

}  // namespace holoflow::faults
