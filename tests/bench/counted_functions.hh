// SPDX-License-Identifier: LGPL-2.1-or-later
// The functions of the CUDA runtime that the counting shim stands in front of, without CUDA's
// headers: handles are void *, enumerations int, and what is passed by value has the same layout.
#pragma once

#include <cstddef>

namespace holoflow::shim {

/// CUDA's dim3.
struct Dimensions {
  unsigned x, y, z;
};

}  // namespace holoflow::shim

// X(name, parameters, arguments) for each.
#define HOLOFLOW_COUNTED_FUNCTIONS(X) \
  X(cudaMalloc, (void **to, size_t bytes), (to, bytes)) \
  X(cudaMallocAsync, (void **to, size_t bytes, void *stream), (to, bytes, stream)) \
  X(cudaMallocFromPoolAsync, (void **to, size_t bytes, void *pool, void *stream), \
    (to, bytes, pool, stream)) \
  X(cudaMallocHost, (void **to, size_t bytes), (to, bytes)) \
  X(cudaMallocManaged, (void **to, size_t bytes, unsigned flags), (to, bytes, flags)) \
  X(cudaMallocPitch, (void **to, size_t *pitch, size_t width, size_t height), \
    (to, pitch, width, height)) \
  X(cudaHostAlloc, (void **to, size_t bytes, unsigned flags), (to, bytes, flags)) \
  X(cudaHostRegister, (void *memory, size_t bytes, unsigned flags), (memory, bytes, flags)) \
  X(cudaFree, (void *memory), (memory)) \
  X(cudaFreeAsync, (void *memory, void *stream), (memory, stream)) \
  X(cudaFreeHost, (void *memory), (memory)) \
  X(cudaDeviceSynchronize, (), ()) \
  X(cudaStreamSynchronize, (void *stream), (stream)) \
  X(cudaStreamQuery, (void *stream), (stream)) \
  X(cudaStreamWaitEvent, (void *stream, void *event, unsigned flags), (stream, event, flags)) \
  X(cudaStreamCreateWithFlags, (void **stream, unsigned flags), (stream, flags)) \
  X(cudaStreamDestroy, (void *stream), (stream)) \
  X(cudaStreamBeginCapture, (void *stream, int mode), (stream, mode)) \
  X(cudaStreamEndCapture, (void *stream, void **graph), (stream, graph)) \
  X(cudaEventSynchronize, (void *event), (event)) \
  X(cudaEventQuery, (void *event), (event)) \
  X(cudaEventRecord, (void *event, void *stream), (event, stream)) \
  X(cudaEventRecordWithFlags, (void *event, void *stream, unsigned flags), (event, stream, flags)) \
  X(cudaEventCreateWithFlags, (void **event, unsigned flags), (event, flags)) \
  X(cudaEventDestroy, (void *event), (event)) \
  X(cudaEventElapsedTime, (float *milliseconds, void *begin, void *end), \
    (milliseconds, begin, end)) \
  X(cudaLaunchKernel, \
    (const void *kernel, holoflow::shim::Dimensions grid, holoflow::shim::Dimensions block, \
     void **parameters, size_t shared_bytes, void *stream), \
    (kernel, grid, block, parameters, shared_bytes, stream)) \
  X(cudaLaunchKernelExC, (const void *config, const void *kernel, void **parameters), \
    (config, kernel, parameters)) \
  X(cudaLaunchHostFunc, (void *stream, void (*function)(void *), void *data), \
    (stream, function, data)) \
  X(cudaMemcpy, (void *to, const void *from, size_t bytes, int kind), (to, from, bytes, kind)) \
  X(cudaMemcpyAsync, (void *to, const void *from, size_t bytes, int kind, void *stream), \
    (to, from, bytes, kind, stream)) \
  X(cudaMemcpy2DAsync, \
    (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, \
     int kind, void *stream), \
    (to, to_pitch, from, from_pitch, width, height, kind, stream)) \
  X(cudaMemsetAsync, (void *to, int value, size_t bytes, void *stream), \
    (to, value, bytes, stream)) \
  X(cudaMemset2DAsync, \
    (void *to, size_t pitch, int value, size_t width, size_t height, void *stream), \
    (to, pitch, value, width, height, stream)) \
  X(cudaGraphInstantiate, (void **executable, void *graph, unsigned long long flags), \
    (executable, graph, flags)) \
  X(cudaGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags), \
    (executable, graph, flags)) \
  X(cudaGraphInstantiateWithParams, (void **executable, void *graph, void *parameters), \
    (executable, graph, parameters)) \
  X(cudaGraphExecUpdate, (void *executable, void *graph, void *result), \
    (executable, graph, result)) \
  X(cudaGraphLaunch, (void *executable, void *stream), (executable, stream)) \
  X(cudaGraphGetNodes, (void *graph, void **nodes, size_t *count), (graph, nodes, count)) \
  X(cudaGraphGetEdges, (void *graph, void **from, void **to, void *data, size_t *count), \
    (graph, from, to, data, count)) \
  X(cudaGraphNodeGetType, (void *node, int *type), (node, type)) \
  X(cudaGraphMemcpyNodeGetParams, (void *node, void *parameters), (node, parameters)) \
  X(cudaGraphMemsetNodeGetParams, (void *node, void *parameters), (node, parameters)) \
  X(cudaGraphExecMemcpyNodeSetParams1D, \
    (void *executable, void *node, void *to, const void *from, size_t bytes, int kind), \
    (executable, node, to, from, bytes, kind)) \
  X(cudaGraphExecMemsetNodeSetParams, (void *executable, void *node, const void *parameters), \
    (executable, node, parameters)) \
  X(cudaGraphDestroy, (void *graph), (graph)) \
  X(cudaGraphExecDestroy, (void *executable), (executable)) \
  X(cudaMemPoolCreate, (void **pool, const void *properties), (pool, properties)) \
  X(cudaMemPoolDestroy, (void *pool), (pool)) \
  X(cudaPointerGetAttributes, (void *attributes, const void *memory), (attributes, memory)) \
  X(cudaGetDeviceCount, (int *count), (count)) \
  X(cudaGetDeviceProperties, (void *properties, int device), (properties, device)) \
  X(cudaGetDevice, (int *device), (device)) \
  X(cudaSetDevice, (int device), (device))

// Functions of the driver that are asked for by name, with cudaGetDriverEntryPointByVersion.
#define HOLOFLOW_COUNTED_DRIVER_FUNCTIONS(X) \
  X(cuGraphKernelNodeGetParams, (void *node, void *parameters), (node, parameters)) \
  X(cuGraphExecKernelNodeSetParams, (void *executable, void *node, const void *parameters), \
    (executable, node, parameters)) \
  X(cuFuncGetParamInfo, (void *function, size_t index, size_t *offset, size_t *bytes), \
    (function, index, offset, bytes)) \
  X(cuKernelGetParamInfo, (void *kernel, size_t index, size_t *offset, size_t *bytes), \
    (kernel, index, offset, bytes))

// Those that create something and those that give it back: X(name, what).
#define HOLOFLOW_CREATING_FUNCTIONS(X) \
  X(cudaMalloc, DeviceMemory) \
  X(cudaMallocAsync, DeviceMemory) \
  X(cudaMallocFromPoolAsync, DeviceMemory) \
  X(cudaMallocManaged, DeviceMemory) \
  X(cudaMallocPitch, DeviceMemory) \
  X(cudaMallocHost, HostMemory) \
  X(cudaHostAlloc, HostMemory) \
  X(cudaStreamCreateWithFlags, Streams) \
  X(cudaEventCreateWithFlags, Events) \
  X(cudaMemPoolCreate, Pools) \
  X(cudaStreamEndCapture, Graphs) \
  X(cudaGraphInstantiate, Executables)
#define HOLOFLOW_RETURNING_FUNCTIONS(X) \
  X(cudaFree, DeviceMemory) \
  X(cudaFreeAsync, DeviceMemory) \
  X(cudaFreeHost, HostMemory) \
  X(cudaStreamDestroy, Streams) \
  X(cudaEventDestroy, Events) \
  X(cudaMemPoolDestroy, Pools) \
  X(cudaGraphDestroy, Graphs) \
  X(cudaGraphExecDestroy, Executables)
