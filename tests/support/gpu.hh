// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests that need a GPU.
#pragma once

namespace holoflow::test {

/// The first GPU is there and usable.
[[nodiscard]] bool have_gpu();

}  // namespace holoflow::test
