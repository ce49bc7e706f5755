// SPDX-License-Identifier: LGPL-2.1-or-later
// Entries of a module that stands in for the CUDA module.
#include <cstdio>

#include "holoflow/core/module.hh"
#include "holoflow/device/cuda_module.hh"
#include "tests/emulated/late_device.hh"
#include "tests/emulated/late_tasks.hh"

HOLOFLOW_MODULE_ENTRY const char *holoflow_module_abi() {
  return HOLOFLOW_MODULE_ABI;
}

HOLOFLOW_MODULE_ENTRY void holoflow_register(holoflow::core::Registry &registry) {
  holoflow::emulated::register_late_tasks(registry);
}

HOLOFLOW_MODULE_ENTRY holoflow::runtime::Device *holoflow_cuda_device(
    int index, char *why, size_t why_bytes) noexcept {
  if (index <= 0)
    return &holoflow::emulated::late_device();
  std::snprintf(
      why, why_bytes, "no CUDA: there is no GPU %d; expected an index from 0 to 0", index);
  return nullptr;
}
