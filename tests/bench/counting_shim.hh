// SPDX-License-Identifier: LGPL-2.1-or-later
// What libholoflow-counting-shim.so exports. Preloaded (LD_PRELOAD), it counts the calls of the
// shared CUDA runtime (those of the module in tests/shared_cudart) and host allocations, and makes
// calls fail on demand. Any thread.
#pragma once

#include <cstddef>

extern "C" {

/// All counts become 0, and nothing is to fail.
void holoflow_shim_reset();

/// Calls of a CUDA function by name, those of the driver that were asked for by name included
/// ("cudaLaunchKernel" counts <<<>>> too); "malloc": allocations of host memory by any thread and
/// any function; "malloc in CUDA": those of them that a counted CUDA function made. 0 for other
/// names.
unsigned long holoflow_shim_count(const char *name);

/// Calls of all CUDA functions.
unsigned long holoflow_shim_calls();

/// "name count\n" for every count but 0; cut to `size` bytes, 0 at the end included. The length of
/// the text. Allocates nothing.
size_t holoflow_shim_report(char *text, size_t size);

/// The `nth` following call (1 is the next) of a CUDA function, or of any for "any", returns
/// `error_code` without being made, once; the next cudaGetLastError() of that thread returns it
/// too. A call that gives something back (free, destroy) is made all the same: nobody could make
/// good for it. "malloc" makes an allocation return null instead. `nth` 0: nothing is to fail.
/// False for other names.
bool holoflow_shim_fail(const char *name_or_any, unsigned long nth, int error_code);

/// A device that is lost: the `nth` following call of any CUDA function fails like that, and so do
/// all calls after it, cudaGetLastError() of every thread included, until the next reset. What is
/// pending runs on; calls that give something back wait for it.
void holoflow_shim_fail_from(unsigned long nth, int error_code);

/// The function whose call failed first on demand since the last reset; null: none did.
const char *holoflow_shim_failed();

/// What the counted functions have created and not given back since the process began: "device
/// memory", "host memory", "streams", "events", "pools", "graphs" or "executables". 0 for other
/// words.
long holoflow_shim_alive(const char *what);
}
