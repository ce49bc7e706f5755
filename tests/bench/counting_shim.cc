// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands between the CUDA module and the shared CUDA runtime. Loads where there is no CUDA: what it
// stands for is looked up at the first call. Functions the module does not call yet are there too,
// so that they are counted once it does.
#include "counting_shim.hh"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "counted_functions.hh"

// glibc's own: dlsym(RTLD_NEXT, "malloc") would allocate.
extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
}

namespace {

enum Counted : int {
#define HOLOFLOW_ENUMERATOR(name, parameters, arguments) Counted_##name,
  HOLOFLOW_COUNTED_FUNCTIONS(HOLOFLOW_ENUMERATOR)
      HOLOFLOW_COUNTED_DRIVER_FUNCTIONS(HOLOFLOW_ENUMERATOR)
#undef HOLOFLOW_ENUMERATOR
          Counted_cudaGetDriverEntryPointByVersion,
  counted_functions,
  Counted_malloc = counted_functions,
  Counted_malloc_in_cuda,
  counted_names
};
enum Thing : int { DeviceMemory, HostMemory, Streams, Events, Pools, Graphs, Executables, things };
constexpr const char *thing_names[things] = {"device memory", "host memory", "streams",    "events",
                                             "pools",         "graphs",      "executables"};

constexpr int nothing = -1;
constexpr int any_function = -2;

constexpr const char *names[counted_names] = {
#define HOLOFLOW_NAME(name, parameters, arguments) #name,
    HOLOFLOW_COUNTED_FUNCTIONS(HOLOFLOW_NAME) HOLOFLOW_COUNTED_DRIVER_FUNCTIONS(HOLOFLOW_NAME)
#undef HOLOFLOW_NAME
        "cudaGetDriverEntryPointByVersion",
    "malloc", "malloc in CUDA"};

/// A cache line each, so that threads that count do not slow each other down.
struct alignas(64) Counter {
  std::atomic<unsigned long> calls = 0;
};
Counter counters[counted_names];

struct Role {
  int creates = nothing;
  int gives_back = nothing;
};

constexpr Role role_of(int index) {
  switch (index) {
#define HOLOFLOW_CREATING(name, thing) \
  case Counted_##name: \
    return {.creates = thing};
    HOLOFLOW_CREATING_FUNCTIONS(HOLOFLOW_CREATING)
#undef HOLOFLOW_CREATING
#define HOLOFLOW_RETURNING(name, thing) \
  case Counted_##name: \
    return {.gives_back = thing};
    HOLOFLOW_RETURNING_FUNCTIONS(HOLOFLOW_RETURNING)
#undef HOLOFLOW_RETURNING
  default:
    return {};
  }
}
std::atomic<long> alive[things];

std::atomic<int> failing = nothing;  // which function is to fail
std::atomic<unsigned long> calls_to_failure = 0;
std::atomic<int> failure_code = 0;
std::atomic<bool> failure_stays = false;  // the device is to be lost
std::atomic<bool> lost = false;
std::atomic<int> first_failed = nothing;

// No allocation at the first use, as other models of thread-local memory may make.
#define HOLOFLOW_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
HOLOFLOW_THREAD_LOCAL int depth = 0;  // of counted CUDA functions that call each other
HOLOFLOW_THREAD_LOCAL int last_error = 0;  // made up, not asked for yet

constexpr int symbol_not_found = 302;  // cudaErrorSharedObjectSymbolNotFound

void count(int index) {
  counters[index].calls.fetch_add(1, std::memory_order_relaxed);
}

/// Whether this call of function `index` is the one that is to fail.
bool fails(int index) {
  const int armed = failing.load(std::memory_order_acquire);
  if (armed != index && (armed != any_function || index >= counted_functions))
    return false;
  if (lost)
    return true;
  if (calls_to_failure.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return false;
  first_failed = index;
  if (failure_stays)
    lost = true;
  else
    failing.store(nothing, std::memory_order_release);
  return true;
}

// The CUDA module is loaded with RTLD_LOCAL: its runtime is in nobody's scope but its own.
void *find_symbol(const char *symbol) {
  if (void *next = dlsym(RTLD_NEXT, symbol))
    return next;
  void *runtime = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : dlsym(runtime, symbol);
}

template <typename... Parameters>
int pass_on(
    const char *symbol, std::atomic<int (*)(Parameters...)> &real, Parameters... arguments) {
  auto function = real.load(std::memory_order_acquire);
  if (function == nullptr) {
    void *found = find_symbol(symbol);
    if (found == nullptr)
      return last_error = symbol_not_found;
    std::memcpy(&function, &found, sizeof(function));
    real.store(function, std::memory_order_release);
  }
  ++depth;
  const int result = function(arguments...);
  --depth;
  return result;
}

// Freeing null is allowed and gives nothing back.
bool is_null() {
  return false;
}
template <typename First, typename... Rest> bool is_null(First first, Rest...) {
  if constexpr (std::is_pointer_v<First>)
    return first == nullptr;
  return false;
}

int wait_for_the_device() {
  static std::atomic<int (*)()> real = nullptr;
  return pass_on("cudaDeviceSynchronize", real);
}

template <typename... Parameters>
int call(
    int index, const char *symbol, std::atomic<int (*)(Parameters...)> &real,
    Parameters... arguments) {
  if (depth > 0)
    return pass_on(symbol, real, arguments...);
  count(index);
  const Role role = role_of(index);
  const bool refused = fails(index);
  const int code = failure_code.load(std::memory_order_relaxed);
  if (refused && role.gives_back == nothing)
    return last_error = code;
  if (refused && lost)
    (void)wait_for_the_device();
  const int result = pass_on(symbol, real, arguments...);
  if (result == 0 && role.creates != nothing)
    ++alive[role.creates];
  if (result == 0 && role.gives_back != nothing && !is_null(arguments...))
    --alive[role.gives_back];
  return refused ? last_error = code : result;
}

void disarm() {
  failing = nothing;
  lost = false;
  failure_stays = false;
  first_failed = nothing;
}

void arm(int index, unsigned long nth, int error_code, bool stays) {
  disarm();
  calls_to_failure = nth;
  failure_code = error_code;
  failure_stays = stays;
  failing.store(nth == 0 ? nothing : index, std::memory_order_release);
}

/// Whether the calling thread is one that the driver has started for itself.
bool is_thread_of_cuda() {
  char name[16] = {};
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
      std::strncmp(name, "cuda", 4) == 0;
}

/// Whether the allocation may be made; counts it.
bool allow_allocation() {
  count(Counted_malloc);
  if (depth > 0 || is_thread_of_cuda())
    count(Counted_malloc_in_cuda);
  return !fails(Counted_malloc);
}

void *out_of_memory() {
  errno = ENOMEM;
  return nullptr;
}

int index_of(const char *name) {
  for (int i = 0; i < counted_names; ++i)
    if (std::strcmp(names[i], name) == 0)
      return i;
  return nothing;
}

}  // namespace

#define HOLOFLOW_EXPORT extern "C" __attribute__((visibility("default")))
#define HOLOFLOW_UNPACK(...) __VA_OPT__(, ) __VA_ARGS__

#define HOLOFLOW_FORWARD(name, parameters, arguments) \
  HOLOFLOW_EXPORT int name parameters { \
    static std::atomic<int(*) parameters> real = nullptr; \
    return call(Counted_##name, #name, real HOLOFLOW_UNPACK arguments); \
  }
HOLOFLOW_COUNTED_FUNCTIONS(HOLOFLOW_FORWARD)

namespace {

// What the driver's functions are replaced by; a failure of theirs is no error of the runtime.
#define HOLOFLOW_STAND_IN(name, parameters, arguments) \
  std::atomic<int(*) parameters> real_##name = nullptr; \
  int name parameters { \
    const int error_before = last_error; \
    const int result = call(Counted_##name, #name, real_##name HOLOFLOW_UNPACK arguments); \
    last_error = error_before; \
    return result; \
  }
HOLOFLOW_COUNTED_DRIVER_FUNCTIONS(HOLOFLOW_STAND_IN)

/// Stands in front of the driver's function `symbol` where it is a counted one.
void stand_in_front(const char *symbol, void **function) {
#define HOLOFLOW_REPLACE(name, parameters, arguments) \
  if (std::strcmp(symbol, #name) == 0) { \
    int(*real) parameters = nullptr; \
    std::memcpy(&real, function, sizeof(real)); \
    real_##name = real; \
    int(*const mine) parameters = name; \
    std::memcpy(function, &mine, sizeof(mine)); \
    return; \
  }
  HOLOFLOW_COUNTED_DRIVER_FUNCTIONS(HOLOFLOW_REPLACE)
}

}  // namespace

HOLOFLOW_EXPORT int cudaGetDriverEntryPointByVersion(
    const char *symbol, void **function, unsigned version, unsigned long long flags, void *found) {
  static std::atomic<int (*)(const char *, void **, unsigned, unsigned long long, void *)> real =
      nullptr;
  const int result = call(
      Counted_cudaGetDriverEntryPointByVersion, "cudaGetDriverEntryPointByVersion", real, symbol,
      function, version, flags, found);
  if (result == 0 && depth == 0 && *function != nullptr)
    stand_in_front(symbol, function);
  return result;
}

// What <<<>>> becomes since CUDA 13.
HOLOFLOW_EXPORT int __cudaLaunchKernel(
    void *kernel, holoflow::shim::Dimensions grid, holoflow::shim::Dimensions block,
    void **parameters, size_t shared_bytes, void *stream) {
  static std::atomic<int (*)(
      void *, holoflow::shim::Dimensions, holoflow::shim::Dimensions, void **, size_t, void *)>
      real = nullptr;
  return call(
      Counted_cudaLaunchKernel, "__cudaLaunchKernel", real, kernel, grid, block, parameters,
      shared_bytes, stream);
}

// Callers of <<<>>> see a failure here only. Not counted.
HOLOFLOW_EXPORT int cudaGetLastError() {
  static std::atomic<int (*)()> real = nullptr;
  const int made_up = std::exchange(last_error, 0);
  if (lost)
    return failure_code;
  return made_up != 0 ? made_up : pass_on("cudaGetLastError", real);
}
HOLOFLOW_EXPORT int cudaPeekAtLastError() {
  static std::atomic<int (*)()> real = nullptr;
  if (lost)
    return failure_code;
  return last_error != 0 ? last_error : pass_on("cudaPeekAtLastError", real);
}

// operator new is the C++ library's and calls these.
HOLOFLOW_EXPORT void *malloc(size_t bytes) noexcept {
  return allow_allocation() ? __libc_malloc(bytes) : out_of_memory();
}
HOLOFLOW_EXPORT void *calloc(size_t number, size_t bytes) noexcept {
  return allow_allocation() ? __libc_calloc(number, bytes) : out_of_memory();
}
HOLOFLOW_EXPORT void *realloc(void *memory, size_t bytes) noexcept {
  return allow_allocation() ? __libc_realloc(memory, bytes) : out_of_memory();
}
HOLOFLOW_EXPORT void *memalign(size_t alignment, size_t bytes) noexcept {
  return allow_allocation() ? __libc_memalign(alignment, bytes) : out_of_memory();
}
HOLOFLOW_EXPORT void *aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
HOLOFLOW_EXPORT int posix_memalign(void **to, size_t alignment, size_t bytes) noexcept {
  void *memory = memalign(alignment, bytes);
  if (memory == nullptr)
    return ENOMEM;
  *to = memory;
  return 0;
}

HOLOFLOW_EXPORT void holoflow_shim_reset() {
  disarm();
  for (Counter &counter : counters)
    counter.calls = 0;
}

HOLOFLOW_EXPORT unsigned long holoflow_shim_count(const char *name) {
  const int index = index_of(name);
  return index == nothing ? 0 : counters[index].calls.load();
}

HOLOFLOW_EXPORT unsigned long holoflow_shim_calls() {
  unsigned long sum = 0;
  for (int i = 0; i < counted_functions; ++i)
    sum += counters[i].calls.load();
  return sum;
}

HOLOFLOW_EXPORT size_t holoflow_shim_report(char *text, size_t size) {
  size_t length = 0;
  if (size > 0)
    text[0] = '\0';
  for (int i = 0; i < counted_names; ++i) {
    const unsigned long calls = counters[i].calls.load();
    if (calls == 0 || length + 1 >= size)
      continue;
    const int written = std::snprintf(text + length, size - length, "%s %lu\n", names[i], calls);
    length += static_cast<size_t>(written);
  }
  return length < size ? length : (size > 0 ? size - 1 : 0);
}

HOLOFLOW_EXPORT bool holoflow_shim_fail(
    const char *name_or_any, unsigned long nth, int error_code) {
  const bool any = std::strcmp(name_or_any, "any") == 0;
  const int index = any ? any_function : index_of(name_or_any);
  if (index == nothing || index == Counted_malloc_in_cuda) {
    disarm();
    return false;
  }
  arm(index, nth, error_code, false);
  return true;
}

HOLOFLOW_EXPORT void holoflow_shim_fail_from(unsigned long nth, int error_code) {
  arm(any_function, nth, error_code, true);
}

HOLOFLOW_EXPORT const char *holoflow_shim_failed() {
  const int index = first_failed;
  return index == nothing ? nullptr : names[index];
}

HOLOFLOW_EXPORT long holoflow_shim_alive(const char *what) {
  for (int i = 0; i < things; ++i)
    if (std::strcmp(thing_names[i], what) == 0)
      return alive[i];
  return 0;
}
