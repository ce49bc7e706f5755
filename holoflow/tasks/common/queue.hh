// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tasks that hold frames share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

/// Frames that such a task may be asked for: sums of a few of these, and their product with a
/// frame's bytes where it fits, stay exact.
inline constexpr size_t most_frames = size_t{1} << 30;

/// A param that counts frames. Throws ParamError beyond most_frames.
[[nodiscard]] inline size_t frames_param(const nlohmann::json &params, const std::string &name) {
  const auto value = params.at(name).get<size_t>();
  if (value > most_frames)
    throw ParamError(
        "/" + name,
        "param \"" + name + "\": expected at most " + std::to_string(most_frames) +
            " frames, got " + std::to_string(value));
  return value;
}

/// The flag of the only slot; `otherwise` where the context says nothing.
[[nodiscard]] inline bool first_or(const std::vector<bool> &flags, bool otherwise) {
  return flags.empty() ? otherwise : flags[0];
}

/// Debug builds: whoever still reads memory that went back reads nonsense. Host memory of graphs on
/// the CPU; on a GPU the device may still be reading.
inline void poison([[maybe_unused]] std::byte *memory, [[maybe_unused]] size_t bytes) {
#ifndef NDEBUG
  std::memset(memory, 0xDB, bytes);
#endif
}

[[nodiscard]] inline bool is_cancelled(const std::atomic<bool> *cancelled) {
  return cancelled != nullptr && *cancelled;
}

}  // namespace holoflow::tasks
