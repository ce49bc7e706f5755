// SPDX-License-Identifier: LGPL-2.1-or-later
// Which device a graph runs on.
#include "holoflow/compiler/choose_device.hh"

#include "holoflow/core/error.hh"

namespace holoflow::runtime {

DeviceChoice choose_device(CompilerConfig::Device wanted, int cuda_index, bool graph_wants_gpu) {
  switch (wanted) {
  case CompilerConfig::Device::Cpu:
    return {&host_device()};
  case CompilerConfig::Device::Cuda:
    return {&cuda_device(cuda_index)};
  case CompilerConfig::Device::Auto:
    break;
  }
  if (!graph_wants_gpu)
    return {
        &host_device(),
        "the graph runs on the CPU, since it has neither an Upload nor a Memcpy to the device"};
  try {
    return {&cuda_device(cuda_index)};
  } catch (const core::DeviceError &error) {
    return {&host_device(), std::string("the graph runs on the CPU: ") + error.what()};
  }
}

}  // namespace holoflow::runtime
