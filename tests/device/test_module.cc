// SPDX-License-Identifier: LGPL-2.1-or-later
// A module without CUDA for tests of the loader. TEST_MODULE_ABI overrides what it was made for.
#include <cstdio>

#include "holoflow/core/module.hh"
#include "holoflow/device/cuda_module.hh"

#ifndef TEST_MODULE_ABI
#define TEST_MODULE_ABI HOLOFLOW_MODULE_ABI
#endif

HOLOFLOW_MODULE_ENTRY const char *holoflow_module_abi() {
  return TEST_MODULE_ABI;
}

HOLOFLOW_MODULE_ENTRY void holoflow_register(holoflow::core::Registry &registry) {
  holoflow::core::add_kernel(registry, "FromModule", [](auto, auto, const auto &, auto) {});
}

HOLOFLOW_MODULE_ENTRY holoflow::runtime::Device *holoflow_cuda_device(
    int index, char *why, size_t why_bytes) noexcept {
  std::snprintf(why, why_bytes, "the test module has no GPU %d", index);
  return nullptr;
}
