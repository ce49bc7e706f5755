// SPDX-License-Identifier: LGPL-2.1-or-later
// Tests that need a process of their own.
#pragma once

#include <string>

namespace holoflow::faults {

/// Runs the disabled test `name` ("Suite.DISABLED_Name") of this program in a new process and waits
/// for it. "" where it passed, else how it ended.
[[nodiscard]] std::string run_in_child(const std::string &name);

}  // namespace holoflow::faults
