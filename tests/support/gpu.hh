// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests that need a GPU.
#pragma once

namespace holoflow::test {

/// The first GPU is there and usable. Throws core::DeviceError where it is not, although
/// $HOLOFLOW_REQUIRE_GPU is set: the test then fails instead of being skipped.
[[nodiscard]] bool have_gpu();

}  // namespace holoflow::test
