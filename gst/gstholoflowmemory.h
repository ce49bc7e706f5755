// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers in and out without copies: input buffers as frames of a graph, tensors as buffers.
#pragma once

#include <stdexcept>
#include <string>

#include "gstholoflowcaps.h"
#include "gstholoflowpointers.h"
#include "holoflow/runtime/rim.hh"

namespace holoflow::gst {

/// A buffer that is not what the caps say: expected, got. With its times, because it is gone.
class BufferError : public std::invalid_argument {
public:
  BufferError(const std::string &text, const GstBuffer *buffer);

  GstClockTime timestamp, duration;
};

/// Maps `buffer` for reading; it is unmapped and given back by the frames' release. Any stride and
/// plane offset that a GstVideoMeta tells is followed. Throws BufferError where the buffer is
/// not what `stream` says: too small, of another size, or with planes outside of its memory.
///
/// Records carry timestamps, flags, offsets and metas that are not bound to the memory; they do not
/// keep the buffer itself, so that upstream's pool gets it back as soon as the graph has read it.
[[nodiscard]] runtime::InputFrames map_input(BufferPtr buffer, const InputStream &stream);

/// A buffer on the very memory of `frames`, which are given back with it. Pictures are packed: see
/// to_downstream_layout.
[[nodiscard]] BufferPtr wrap_output(runtime::OutputFrames &&frames, const OutputLayout &layout);

/// Gives a packed picture the layout that downstream reads: as it is where that is the default one,
/// with a GstVideoMeta where downstream knows it, else copied to default strides. Null where no
/// memory can be had.
[[nodiscard]] BufferPtr to_downstream_layout(
    BufferPtr buffer, const OutputLayout &layout, bool takes_video_meta);

}  // namespace holoflow::gst
