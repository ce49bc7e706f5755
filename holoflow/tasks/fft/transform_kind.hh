// SPDX-License-Identifier: LGPL-2.1-or-later
// What a Fourier transform reads and writes.
#pragma once

namespace holoflow::tasks {

/// Half a spectrum has length / 2 + 1 elements along the last transformed axis; the others mirror
/// them.
enum class TransformKind { Complex, RealToHalf, HalfToReal };

}  // namespace holoflow::tasks
