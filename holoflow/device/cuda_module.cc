// SPDX-License-Identifier: LGPL-2.1-or-later
// Entries of the CUDA module: which build it is, its tasks, its GPUs.
#include "holoflow/device/cuda_module.hh"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "holoflow/core/error.hh"
#include "holoflow/core/module.hh"
#include "holoflow/device/cuda_device.hh"
#include "holoflow/tasks/builtin_tasks_cuda.hh"

namespace holoflow::runtime {

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string visible_devices() {
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : std::string(" (CUDA_VISIBLE_DEVICES is \"") + visible + "\")";
}

// Throws with a sentence that names what is missing. The runtime is linked statically, so the
// driver is first looked for here.
int count_gpus() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess)
    (void)cudaGetLastError();
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) {
    (void)cudaGetLastError();
    driver = 0;
  }
  if (code == cudaErrorInsufficientDriver && driver == 0)
    throw core::DeviceError(
        "no CUDA: the NVIDIA driver is missing (libcuda.so.1 cannot be loaded); install it",
        core::Reason::NoDevice);
  if (code == cudaErrorInsufficientDriver)
    throw core::DeviceError(
        "no CUDA: the NVIDIA driver is too old: it offers CUDA " + version_text(driver) +
            ", the module needs " + version_text(CUDART_VERSION) + "; update the driver",
        core::Reason::NoDevice);
  if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
    throw core::DeviceError(
        "no CUDA: the NVIDIA driver finds no GPU" + visible_devices(), core::Reason::NoDevice);
  if (code != cudaSuccess)
    throw core::DeviceError(
        std::string("no CUDA: cudaGetDeviceCount failed: ") + cudaGetErrorName(code) + " (" +
            cudaGetErrorString(code) + ")" + visible_devices(),
        core::Reason::NoDevice);
  return count;
}

Device &find_device(int index) {
  static std::mutex mutex;  // guards the map; held while a device is opened
  // Never destroyed: threads may still free memory while static objects go.
  static auto *const devices = new std::map<int, std::unique_ptr<CudaDevice>>;
  const std::lock_guard lock(mutex);
  const int wanted = index < 0 ? 0 : index;
  if (const auto known = devices->find(wanted); known != devices->end())
    return *known->second;
  const int count = count_gpus();
  if (wanted >= count)
    throw core::DeviceError(
        "no CUDA: there is no GPU " + std::to_string(wanted) + visible_devices() +
            "; expected an index from 0 to " + std::to_string(count - 1),
        core::Reason::NoDevice);
  return *devices->emplace(wanted, std::make_unique<CudaDevice>(wanted)).first->second;
}

}  // namespace

}  // namespace holoflow::runtime

HOLOFLOW_MODULE_ENTRY const char *holoflow_module_abi() {
  return HOLOFLOW_MODULE_ABI;
}

HOLOFLOW_MODULE_ENTRY void holoflow_register(holoflow::core::Registry &registry) {
  holoflow::tasks::register_builtin_tasks_cuda(registry);
}

HOLOFLOW_MODULE_ENTRY holoflow::runtime::Device *holoflow_cuda_device(
    int index, char *why, size_t why_bytes) noexcept {
  try {
    return &holoflow::runtime::find_device(index);
  } catch (const std::exception &error) {
    std::snprintf(why, why_bytes, "%s", error.what());
    return nullptr;
  }
}
