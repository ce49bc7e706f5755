// SPDX-License-Identifier: LGPL-2.1-or-later
// A CUDA runtime of a few functions that remember their calls.
#pragma once

extern "C" {
struct FakeDimensions {
  unsigned x, y, z;
};

/// Calls that arrived here.
int fake_cudart_calls();
/// grid.z and the parameters of the last launch.
unsigned fake_cudart_grid_z();
void **fake_cudart_parameters();

int cudaMalloc(void **to, unsigned long bytes);
int cudaFree(void *memory);
int cudaDeviceSynchronize();
int cudaGetLastError();
int cudaPeekAtLastError();
int __cudaLaunchKernel(
    void *kernel, FakeDimensions grid, FakeDimensions block, void **parameters,
    unsigned long shared_bytes, void *stream);

/// Knows cuGraphExecKernelNodeSetParams only; gives null for other names.
int cudaGetDriverEntryPointByVersion(
    const char *symbol, void **function, unsigned version, unsigned long long flags, void *found);

/// In the shim, but not here.
int cudaGraphLaunch(void *executable, void *stream);
}
