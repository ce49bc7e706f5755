// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gpu.hh"

#include <cstdlib>

#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"

namespace holoflow::test {

bool have_gpu() {
  try {
    return runtime::cuda_device().is_gpu();
  } catch (const core::DeviceError &) {
    if (std::getenv("HOLOFLOW_REQUIRE_GPU") != nullptr)
      throw;
    return false;
  }
}

}  // namespace holoflow::test
