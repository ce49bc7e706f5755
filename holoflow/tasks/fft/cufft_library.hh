// SPDX-License-Identifier: LGPL-2.1-or-later
// cuFFT, opened by the first task that needs it: a graph without FFT must not need the library.
#pragma once

#include <cufft.h>

#include <string>
#include <vector>

namespace holoflow::tasks {

/// The functions of cuFFT that tasks call; types come from the toolkit's header.
struct CufftLibrary {
  decltype(&::cufftGetVersion) get_version = nullptr;
  decltype(&::cufftCreate) create = nullptr;
  decltype(&::cufftDestroy) destroy = nullptr;
  decltype(&::cufftSetAutoAllocation) set_auto_allocation = nullptr;
  decltype(&::cufftMakePlanMany64) make_plan_many = nullptr;
  decltype(&::cufftSetWorkArea) set_work_area = nullptr;
  decltype(&::cufftSetStream) set_stream = nullptr;
  decltype(&::cufftExecC2C) exec_c2c = nullptr;
  decltype(&::cufftExecR2C) exec_r2c = nullptr;
  decltype(&::cufftExecC2R) exec_c2r = nullptr;
};

/// Where cuFFT is looked for, in order: the loader's paths, then beside the CUDA toolkit.
[[nodiscard]] std::vector<std::string> cufft_candidates();

/// Opens the first candidate that can be opened; it stays open until the process ends. Throws
/// core::DeviceError that names what was looked for and how to get it.
[[nodiscard]] CufftLibrary open_cufft(const std::vector<std::string> &candidates);

/// The process's cuFFT, opened on first use; any thread. A failure is tried again next time.
[[nodiscard]] const CufftLibrary &cufft_library();

/// Throws core::DeviceError with the call's name and the error's name where it failed.
void check_cufft(cufftResult result, const char *call);

}  // namespace holoflow::tasks
