// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_cudart.hh"

#include <atomic>
#include <cstdlib>
#include <cstring>

#define EXPORTED __attribute__((visibility("default")))

namespace {

std::atomic<int> calls = 0;
std::atomic<unsigned> grid_z = 0;
std::atomic<void **> launch_parameters = nullptr;

}  // namespace

extern "C" {

EXPORTED int fake_cudart_calls() {
  return calls;
}
EXPORTED unsigned fake_cudart_grid_z() {
  return grid_z;
}
EXPORTED void **fake_cudart_parameters() {
  return launch_parameters;
}

EXPORTED int cudaMalloc(void **to, unsigned long bytes) {
  ++calls;
  *to = std::malloc(bytes);
  return 0;
}
EXPORTED int cudaFree(void *memory) {
  ++calls;
  std::free(memory);
  return 0;
}
EXPORTED int cudaDeviceSynchronize() {
  return ++calls > 0 ? 0 : 1;
}
/// A function of the driver.
static int fake_set_parameters(void *, void *, const void *) {
  return ++calls > 0 ? 0 : 1;
}
EXPORTED int cudaGetDriverEntryPointByVersion(
    const char *symbol, void **function, unsigned, unsigned long long, void *) {
  const bool is_there = std::strcmp(symbol, "cuGraphExecKernelNodeSetParams") == 0;
  *function = is_there ? reinterpret_cast<void *>(&fake_set_parameters) : nullptr;
  return 0;
}
EXPORTED int cudaGetLastError() {
  return 0;
}
EXPORTED int cudaPeekAtLastError() {
  return 0;
}
EXPORTED int __cudaLaunchKernel(
    void *, FakeDimensions grid, FakeDimensions, void **parameters, unsigned long, void *) {
  ++calls;
  grid_z = grid.z;
  launch_parameters = parameters;
  return 0;
}
}
