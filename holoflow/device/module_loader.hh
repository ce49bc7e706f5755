// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds and loads libholoflow-cuda.so when a graph first asks for a GPU.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "holoflow/core/registry.hh"
#include "holoflow/device/cuda_module.hh"

namespace holoflow::runtime {

/// Folders in which the CUDA module is looked for, first come first served: that of libholoflow.so,
/// the installed modules' folder, each folder of $HOLOFLOW_MODULE_PATH (separated by ":").
[[nodiscard]] std::vector<std::filesystem::path> module_folders();

/// A CUDA module that has been loaded and found to be of this build.
struct CudaModule {
  std::filesystem::path path;
  void (*register_tasks)(core::Registry &) = nullptr;
  CudaDeviceEntry device = nullptr;
};

/// Loads the module once. A failure is not remembered: a module that is installed later is found by
/// the next call. Safe from any thread.
class ModuleLoader {
public:
  explicit ModuleLoader(std::vector<std::filesystem::path> folders)
      : folders_(std::move(folders)) {}

  /// Throws core::DeviceError with every place searched and what was wrong there.
  [[nodiscard]] const CudaModule &load();
  /// See runtime::cuda_device.
  [[nodiscard]] Device &device(int index);
  /// See runtime::register_cuda_tasks.
  void register_tasks(core::Registry &registry);

private:
  const std::vector<std::filesystem::path> folders_;
  std::mutex mutex_;  // guards module_ while it is loaded, and registries while tasks are added
  CudaModule module_;
};

}  // namespace holoflow::runtime
