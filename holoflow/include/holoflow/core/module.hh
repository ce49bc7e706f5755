// SPDX-License-Identifier: LGPL-2.1-or-later
// What a module (a library of tasks that is loaded while the program runs) must offer.
//
//   HOLOFLOW_MODULE_ENTRY const char *holoflow_module_abi() { return HOLOFLOW_MODULE_ABI; }
//   HOLOFLOW_MODULE_ENTRY void holoflow_register(holoflow::core::Registry &registry) { … }
//
// holoflow_module_abi is called first; the library refuses a module whose text is not its own,
// since tasks cross the border as C++ objects and params as nlohmann::json. A module is never
// unloaded.
#pragma once

#include <nlohmann/json.hpp>

#include "holoflow/core/registry.hh"

#define HOLOFLOW_MODULE_ENTRY extern "C" __attribute__((visibility("default")))

#define HOLOFLOW_RELEASE "0.2.0"

#define HOLOFLOW_DETAIL_TEXT(x) HOLOFLOW_DETAIL_TEXT_OF(x)
#define HOLOFLOW_DETAIL_TEXT_OF(x) #x
#if defined(__clang__)
#define HOLOFLOW_DETAIL_COMPILER "clang " HOLOFLOW_DETAIL_TEXT(__clang_major__)
#else
#define HOLOFLOW_DETAIL_COMPILER "gcc " HOLOFLOW_DETAIL_TEXT(__GNUC__)
#endif

/// Library version, namespace of nlohmann::json (it holds version and ABI tags), compiler.
#define HOLOFLOW_MODULE_ABI \
  "holoflow " HOLOFLOW_RELEASE \
  ", " HOLOFLOW_DETAIL_TEXT(NLOHMANN_JSON_NAMESPACE) ", " HOLOFLOW_DETAIL_COMPILER
