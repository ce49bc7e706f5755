// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens cuFFT with dlopen and resolves what tasks call.
#include "holoflow/tasks/fft/cufft_library.hh"

#include <dlfcn.h>

#include <cstdlib>

#include "holoflow/core/error.hh"

namespace holoflow::tasks {

namespace {

// The major version whose header this file is compiled with: CUDA 13 brings cuFFT 12.
constexpr const char *versioned_name = "libcufft.so.12";
constexpr const char *plain_name = "libcufft.so";

std::string missing_message(
    const std::vector<std::string> &candidates, const std::string &last_error) {
  std::string text = "cuFFT not found: looked for ";
  for (size_t i = 0; i < candidates.size(); ++i)
    text += (i == 0 ? "" : ", ") + candidates[i];
  if (!last_error.empty())
    text += " (the last one said: " + last_error + ")";
  return text +
      "; install cuFFT of CUDA 13 (NVIDIA's package libcufft-13-0, or the CUDA toolkit), add its "
      "folder to LD_LIBRARY_PATH, or compile the graph for \"cpu\"";
}

template <typename Function>
void resolve(void *library, const std::string &path, const char *symbol, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function != nullptr)
    return;
  throw core::DeviceError(
      "cuFFT: " + path + " has no function " + symbol +
          "; expected cuFFT 12 (CUDA 13): install NVIDIA's package libcufft-13-0",
      core::Reason::NoDevice);
}

const char *name_of(cufftResult result) {
  switch (result) {
  case CUFFT_INVALID_PLAN:
    return "CUFFT_INVALID_PLAN";
  case CUFFT_ALLOC_FAILED:
    return "CUFFT_ALLOC_FAILED";
  case CUFFT_INVALID_TYPE:
    return "CUFFT_INVALID_TYPE";
  case CUFFT_INVALID_VALUE:
    return "CUFFT_INVALID_VALUE";
  case CUFFT_INTERNAL_ERROR:
    return "CUFFT_INTERNAL_ERROR";
  case CUFFT_EXEC_FAILED:
    return "CUFFT_EXEC_FAILED";
  case CUFFT_SETUP_FAILED:
    return "CUFFT_SETUP_FAILED";
  case CUFFT_INVALID_SIZE:
    return "CUFFT_INVALID_SIZE";
  case CUFFT_INVALID_DEVICE:
    return "CUFFT_INVALID_DEVICE";
  case CUFFT_NOT_SUPPORTED:
    return "CUFFT_NOT_SUPPORTED";
  default:
    return "unknown error";
  }
}

}  // namespace

std::vector<std::string> cufft_candidates() {
  std::vector<std::string> candidates = {versioned_name, plain_name};
  if (const char *toolkit = std::getenv("CUDA_PATH"); toolkit != nullptr && *toolkit != '\0')
    candidates.push_back(std::string(toolkit) + "/lib64/" + versioned_name);
  candidates.push_back(std::string("/usr/local/cuda/lib64/") + versioned_name);
  return candidates;
}

CufftLibrary open_cufft(const std::vector<std::string> &candidates) {
  void *library = nullptr;
  std::string path;
  std::string last_error;
  for (const std::string &candidate : candidates) {
    library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      path = candidate;
      break;
    }
    if (const char *error = dlerror(); error != nullptr)
      last_error = error;
  }
  if (library == nullptr)
    throw core::DeviceError(missing_message(candidates, last_error), core::Reason::NoDevice);

  CufftLibrary functions;
  resolve(library, path, "cufftGetVersion", functions.get_version);
  resolve(library, path, "cufftCreate", functions.create);
  resolve(library, path, "cufftDestroy", functions.destroy);
  resolve(library, path, "cufftSetAutoAllocation", functions.set_auto_allocation);
  resolve(library, path, "cufftMakePlanMany64", functions.make_plan_many);
  resolve(library, path, "cufftSetWorkArea", functions.set_work_area);
  resolve(library, path, "cufftSetStream", functions.set_stream);
  resolve(library, path, "cufftExecC2C", functions.exec_c2c);
  resolve(library, path, "cufftExecR2C", functions.exec_r2c);
  resolve(library, path, "cufftExecC2R", functions.exec_c2r);
  return functions;
}

const CufftLibrary &cufft_library() {
  // Where open_cufft throws, the static stays uninitialised and the next caller tries again.
  static const CufftLibrary library = open_cufft(cufft_candidates());
  return library;
}

void check_cufft(cufftResult result, const char *call) {
  if (result == CUFFT_SUCCESS)
    return;
  throw core::DeviceError(
      std::string(call) + " failed: " + name_of(result) + " (" +
      std::to_string(static_cast<int>(result)) + ")");
}

}  // namespace holoflow::tasks
