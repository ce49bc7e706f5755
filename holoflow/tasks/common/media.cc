// SPDX-License-Identifier: LGPL-2.1-or-later
// What becomes of a tensor's annotation where a task changes its axes.
#include "holoflow/tasks/common/media.hh"

namespace holoflow::tasks {

bool has_frames(const core::TDesc &in) {
  return in.rank() >= 3 && (!in.media || !in.media->records || *in.media->records == in.shape[0]);
}

std::optional<core::MediaInfo> media_after(
    const core::TDesc &in, const std::vector<AxisFate> &fates) {
  if (!in.media)
    return std::nullopt;
  core::MediaInfo media = *in.media;
  const bool planar = media.pixel_format == "NV12" || media.pixel_format == "I420" ||
      media.pixel_format.starts_with("P010") || media.pixel_format == "YUY2";
  int moved = 0;
  bool keeps_format = true;
  for (size_t axis = 0; axis < fates.size(); ++axis) {
    const bool is_channel = in.media->channel_axis == static_cast<int>(axis);
    const bool whole = !fates[axis].dropped && !fates[axis].altered;
    if (!whole && (is_channel || (planar && axis > 0)))
      keeps_format = false;
    if (!fates[axis].dropped)
      continue;
    if (is_channel)
      media.channel_axis.reset();
    if (in.media->channel_axis && static_cast<int>(axis) < *in.media->channel_axis)
      ++moved;
  }
  if (media.channel_axis)
    *media.channel_axis -= moved;
  if (!keeps_format)
    media.pixel_format.clear();
  return media;
}

void set_one_record(core::TDesc &output) {
  if (!output.media)
    output.media.emplace();
  output.media->records = 1;
}

}  // namespace holoflow::tasks
