// SPDX-License-Identifier: LGPL-2.1-or-later
// The flags of one record that stands for several frames.
#pragma once

#include <cstdint>

#include "holoflow/core/tensor.hh"

namespace holoflow::core {

/// Besides the public flags, within a graph only: some of the frames are padding, not all. An
/// Output leaves out what shows padding and no frame that is new, and takes the flag away.
inline constexpr uint32_t shows_padding = uint32_t{1} << 31;

/// Flags of a record that stands for every frame added.
///
///   Discontinuity, Corrupted   of any frame: one such frame is in the result
///   Gap                        of all frames: a result that shows one real frame is no gap
///   Padding                    of all frames; padding beside real frames does not count at all,
///                              as it repeats one of them, but for shows_padding
class MergedFlags {
public:
  void add(uint32_t flags);
  /// None where no frame was added.
  [[nodiscard]] uint32_t value() const;

private:
  struct Seen {
    uint32_t of_any = FrameRecord::None;
    uint32_t of_all = ~uint32_t{0};
    bool some = false;
  };
  static uint32_t merged(const Seen &seen);

  Seen frames_, padding_;
};

}  // namespace holoflow::core
