// SPDX-License-Identifier: LGPL-2.1-or-later
// Which device a graph runs on.
#pragma once

#include <string>

#include "holoflow/runtime/compiler.hh"
#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

struct DeviceChoice {
  Device *device = nullptr;
  std::string note = {};  ///< one sentence why Auto took the CPU, "" if there is nothing to tell
};

/// Cpu: the CPU. Cuda: the GPU or core::DeviceError. Auto: a working GPU if the graph has a use for
/// one, else the CPU with a note. Loads the CUDA module only where a GPU may be used.
[[nodiscard]] DeviceChoice choose_device(
    CompilerConfig::Device wanted, int cuda_index, bool graph_wants_gpu);

}  // namespace holoflow::runtime
