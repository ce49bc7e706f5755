// SPDX-License-Identifier: LGPL-2.1-or-later
// Mapping input buffers and wrapping output tensors.
#include "gstholoflowmemory.h"

#include <cstring>
#include <limits>

namespace holoflow::gst {

namespace {

using core::FrameRecord;

// Flags that stay with a frame; the record has its own word for some, memory's are not copied.
constexpr guint kept_flags = ~(static_cast<guint>(GST_MINI_OBJECT_FLAG_LAST) - 1) &
    ~static_cast<guint>(GST_BUFFER_FLAG_TAG_MEMORY) &
    ~static_cast<guint>(GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_CORRUPTED);

// What a frame takes along besides its record.
struct Carried {
  guint64 offset = GST_BUFFER_OFFSET_NONE;
  guint64 offset_end = GST_BUFFER_OFFSET_NONE;
  guint flags = 0;
  int width = 0, height = 0;  // of the input picture, 0 for tensors
  // Times that a record cannot hold, from 2^63 ns on.
  GstClockTime pts = GST_CLOCK_TIME_NONE, dts = GST_CLOCK_TIME_NONE;
  BufferPtr metas;  // an empty buffer that holds metas, null for none
};

bool has_tag(GType api, const char *name) {
  return gst_meta_api_type_has_tag(api, g_quark_from_string(name));
}

// Metas that describe the memory, or keep it, stay behind.
bool may_travel(const GstMetaInfo *info) {
  return !has_tag(info->api, "memory") && info->api != GST_PARENT_BUFFER_META_API_TYPE &&
      info->transform_func != nullptr;
}

bool bound_to_geometry(GType api) {
  return has_tag(api, "size") || has_tag(api, "orientation") || has_tag(api, "colorspace");
}

struct MetaCopy {
  GstBuffer *from;
  Carried *carried = nullptr;  // made on the first meta
  GstBuffer *to = nullptr;
  bool same_geometry = true;
};

void copy_meta(GstBuffer *to, GstBuffer *from, GstMeta *meta) {
  GstMetaTransformCopy whole = {FALSE, 0, static_cast<gsize>(-1)};
  meta->info->transform_func(to, meta, from, _gst_meta_transform_copy, &whole);
}

gboolean carry_meta(GstBuffer *from, GstMeta **meta, gpointer data) {
  auto *copy = static_cast<MetaCopy *>(data);
  if (!may_travel((*meta)->info))
    return TRUE;
  if (copy->carried->metas == nullptr)
    copy->carried->metas.reset(gst_buffer_new());
  copy_meta(copy->carried->metas.get(), from, *meta);
  return TRUE;
}

gboolean restore_meta(GstBuffer *from, GstMeta **meta, gpointer data) {
  auto *copy = static_cast<MetaCopy *>(data);
  if (copy->same_geometry || !bound_to_geometry((*meta)->info->api))
    copy_meta(copy->to, from, *meta);
  return TRUE;
}

bool fits_a_record(GstClockTime time) {
  return time <= static_cast<GstClockTime>(std::numeric_limits<int64_t>::max());
}

std::shared_ptr<void> carry(GstBuffer *buffer, const InputStream &stream) {
  auto carried = std::make_shared<Carried>();
  carried->offset = GST_BUFFER_OFFSET(buffer);
  carried->offset_end = GST_BUFFER_OFFSET_END(buffer);
  carried->flags = GST_BUFFER_FLAGS(buffer) & kept_flags;
  if (!fits_a_record(GST_BUFFER_PTS(buffer)))
    carried->pts = GST_BUFFER_PTS(buffer);
  if (!fits_a_record(GST_BUFFER_DTS(buffer)))
    carried->dts = GST_BUFFER_DTS(buffer);
  if (stream.row->kind == CapsRow::Kind::Video) {
    carried->width = stream.video.width;
    carried->height = stream.video.height;
  }
  MetaCopy copy{buffer, carried.get()};
  gst_buffer_foreach_meta(buffer, carry_meta, &copy);
  return carried;
}

int64_t to_ns(GstClockTime time) {
  return fits_a_record(time) ? static_cast<int64_t>(time) : -1;
}

GstClockTime from_ns(int64_t ns) {
  return ns < 0 ? GST_CLOCK_TIME_NONE : static_cast<GstClockTime>(ns);
}

std::vector<FrameRecord> records_of(GstBuffer *buffer, const InputStream &stream) {
  FrameRecord record;
  record.pts_ns = to_ns(GST_BUFFER_PTS(buffer));
  record.dts_ns = to_ns(GST_BUFFER_DTS(buffer));
  record.duration_ns = to_ns(GST_BUFFER_DURATION(buffer));
  if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT))
    record.flags |= FrameRecord::Discontinuity;
  if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_GAP))
    record.flags |= FrameRecord::Gap;
  if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED))
    record.flags |= FrameRecord::Corrupted;
  record.owner = carry(buffer, stream);
  std::vector<FrameRecord> records(stream.frames, record);
  const auto count = static_cast<int64_t>(stream.frames);
  for (int64_t k = 0; count > 1 && k < count; ++k) {
    auto &each = records[static_cast<size_t>(k)];
    if (k > 0)
      each.flags &= ~static_cast<uint32_t>(FrameRecord::Discontinuity);
    if (record.duration_ns < 0) {
      if (k > 0)
        each.pts_ns = each.dts_ns = -1;
      continue;
    }
    const auto at = [&](int64_t frame) {
      return static_cast<int64_t>(gst_util_uint64_scale(
          static_cast<guint64>(record.duration_ns), static_cast<guint64>(frame),
          static_cast<guint64>(count)));
    };
    if (record.pts_ns >= 0)
      each.pts_ns += at(k);
    if (record.dts_ns >= 0)
      each.dts_ns += at(k);
    each.duration_ns = at(k + 1) - at(k);
  }
  return records;
}

// A meta may hold any number.
std::string format_name(GstVideoFormat format) {
  const gchar *name =
      format != GST_VIDEO_FORMAT_UNKNOWN ? gst_video_format_to_string(format) : nullptr;
  return name != nullptr ? name : "an unknown format (" + std::to_string(format) + ")";
}

/// What a picture's planes need of the memory that holds them.
std::string describe_planes(const GstVideoMeta &meta) {
  std::string text = format_name(meta.format) + " " + std::to_string(meta.width) + "x" +
      std::to_string(meta.height);
  for (guint plane = 0; plane < meta.n_planes && plane < GST_VIDEO_MAX_PLANES; ++plane)
    text += (plane == 0 ? ", " : "; ") + std::string("plane ") + std::to_string(plane) +
        " at byte " + std::to_string(meta.offset[plane]) + " with rows " +
        std::to_string(meta.stride[plane]) + " bytes apart";
  return text;
}

// gst_video_frame_map believes a GstVideoMeta: that it describes the picture of the caps, and that
// its planes lie within the buffer.
void refuse_other_picture(GstBuffer *buffer, const GstVideoInfo &video) {
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  if (meta == nullptr)
    return;
  const auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&video));
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&video));
  const std::string expected = "expected a buffer of " + std::string(GST_VIDEO_INFO_NAME(&video)) +
      " " + std::to_string(width) + "x" + std::to_string(height) + " as the caps say";
  if (meta->format != GST_VIDEO_INFO_FORMAT(&video) || meta->width != width ||
      meta->height != height || meta->n_planes != GST_VIDEO_INFO_N_PLANES(&video))
    throw BufferError(
        expected + ", got " + format_name(meta->format) + " " + std::to_string(meta->width) + "x" +
            std::to_string(meta->height) +
            (meta->n_planes != GST_VIDEO_INFO_N_PLANES(&video)
                 ? ", plane count " + std::to_string(meta->n_planes)
                 : ""),
        buffer);
  const auto size = static_cast<guint64>(gst_buffer_get_size(buffer));
  for (guint plane = 0; plane < meta->n_planes; ++plane) {
    // In every format of the table, component `plane` lies in plane `plane`.
    const auto rows = static_cast<guint64>(GST_VIDEO_INFO_COMP_HEIGHT(&video, plane));
    const auto row = static_cast<guint64>(GST_VIDEO_INFO_COMP_WIDTH(&video, plane)) *
        static_cast<guint64>(GST_VIDEO_INFO_COMP_PSTRIDE(&video, plane));
    const auto stride = static_cast<gint64>(meta->stride[plane]);
    const auto offset = static_cast<guint64>(meta->offset[plane]);
    const bool fits = stride > 0 && static_cast<guint64>(stride) >= row && offset <= size &&
        row <= size - offset &&
        (rows <= 1 || static_cast<guint64>(stride) <= (size - offset - row) / (rows - 1));
    if (!fits)
      throw BufferError(
          expected + " with planes inside of its " + std::to_string(size) + " bytes, got " +
              describe_planes(*meta),
          buffer);
  }
}

// Where there is a GstVideoMeta, gst_video_frame_map maps only the memory in which a plane begins.
BufferPtr with_planes_in_one_memory(BufferPtr buffer, const GstVideoInfo &video) {
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer.get());
  if (meta == nullptr || gst_buffer_n_memory(buffer.get()) < 2)
    return buffer;
  bool whole = true;
  for (guint plane = 0; plane < meta->n_planes; ++plane) {
    const auto rows = static_cast<gsize>(GST_VIDEO_INFO_COMP_HEIGHT(&video, plane));
    const auto row = static_cast<gsize>(
        GST_VIDEO_INFO_COMP_WIDTH(&video, plane) * GST_VIDEO_INFO_COMP_PSTRIDE(&video, plane));
    guint first = 0, memories = 0;
    gsize skip = 0;
    whole =
        whole &&
        gst_buffer_find_memory(
            buffer.get(), meta->offset[plane],
            static_cast<gsize>(meta->stride[plane]) * (rows - 1) + row, &first, &memories, &skip) &&
        memories == 1;
  }
  if (whole)
    return buffer;
  BufferPtr merged(gst_buffer_copy_region(
      buffer.get(), static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_ALL | GST_BUFFER_COPY_MERGE), 0,
      static_cast<gsize>(-1)));
  if (merged == nullptr)
    throw BufferError("a buffer in several memories cannot be put into one", buffer.get());
  return merged;
}

runtime::InputFrames map_picture(BufferPtr buffer, const InputStream &stream) {
  refuse_other_picture(buffer.get(), stream.video);
  buffer = with_planes_in_one_memory(std::move(buffer), stream.video);
  auto *frame = new GstVideoFrame;
  if (!gst_video_frame_map(frame, &stream.video, buffer.get(), GST_MAP_READ)) {
    delete frame;
    throw BufferError(
        "expected a buffer of at least " + std::to_string(stream.video.size) +
            " bytes that can be read, got " + std::to_string(gst_buffer_get_size(buffer.get())) +
            " bytes",
        buffer.get());
  }
  runtime::InputFrames frames;
  frames.release = [frame] {
    gst_video_frame_unmap(frame);
    delete frame;
  };
  auto &picture = frames.picture;
  picture.format = GST_VIDEO_INFO_NAME(&stream.video);
  picture.width = static_cast<size_t>(stream.video.width);
  picture.height = static_cast<size_t>(stream.video.height);
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); ++plane)
    picture.planes[plane] = {
        static_cast<const std::byte *>(GST_VIDEO_FRAME_PLANE_DATA(frame, plane)),
        static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane))};
  return frames;
}

struct MappedBuffer {
  BufferPtr buffer;
  GstMapInfo map = {};
};

runtime::InputFrames map_tensor(BufferPtr buffer, const InputStream &stream) {
  const size_t wanted = stream.buffer.num_bytes();
  const size_t got = gst_buffer_get_size(buffer.get());
  auto mapped = std::make_unique<MappedBuffer>();
  mapped->buffer = std::move(buffer);
  if (got < wanted || !gst_buffer_map(mapped->buffer.get(), &mapped->map, GST_MAP_READ))
    throw BufferError(
        "expected a buffer of at least " + std::to_string(wanted) + " bytes that can be read for " +
            core::to_string(stream.buffer) + ", got " + std::to_string(got) + " bytes",
        mapped->buffer.get());
  runtime::InputFrames frames;
  frames.data = reinterpret_cast<const std::byte *>(mapped->map.data);
  frames.desc = stream.buffer;
  frames.release = [held = mapped.release()] {
    gst_buffer_unmap(held->buffer.get(), &held->map);
    delete held;
  };
  return frames;
}

void give_back(gpointer data) {
  auto *release = static_cast<std::function<void()> *>(data);
  (*release)();
  delete release;
}

void restore(
    GstBuffer *buffer, const FrameRecord &record, const OutputLayout &layout, bool one_to_one) {
  const auto *carried = static_cast<const Carried *>(record.owner.get());
  if (carried == nullptr)
    return;
  const bool video = layout.kind == CapsRow::Kind::Video;
  // Flags above GST_BUFFER_FLAG_LAST belong to video.
  GST_BUFFER_FLAG_SET(buffer, carried->flags & (video ? ~0u : GST_BUFFER_FLAG_LAST - 1u));
  if (one_to_one) {
    GST_BUFFER_OFFSET(buffer) = carried->offset;
    GST_BUFFER_OFFSET_END(buffer) = carried->offset_end;
    if (GST_CLOCK_TIME_IS_VALID(carried->pts))
      GST_BUFFER_PTS(buffer) = carried->pts;
    if (GST_CLOCK_TIME_IS_VALID(carried->dts))
      GST_BUFFER_DTS(buffer) = carried->dts;
  }
  if (carried->metas == nullptr)
    return;
  MetaCopy copy{carried->metas.get(), nullptr, buffer};
  copy.same_geometry = video && static_cast<size_t>(carried->width) == layout.width &&
      static_cast<size_t>(carried->height) == layout.height;
  gst_buffer_foreach_meta(carried->metas.get(), restore_meta, &copy);
}

void stamp(GstBuffer *buffer, std::span<const FrameRecord> records) {
  if (records.empty())
    return;
  const FrameRecord &first = records.front();
  GST_BUFFER_PTS(buffer) = from_ns(first.pts_ns);
  GST_BUFFER_DTS(buffer) = from_ns(first.dts_ns);
  int64_t duration = 0;
  uint32_t flags = first.flags & (FrameRecord::Discontinuity | FrameRecord::Gap);
  for (const auto &record : records) {
    duration = duration < 0 || record.duration_ns < 0 ? -1 : duration + record.duration_ns;
    flags |= record.flags & FrameRecord::Corrupted;
    if ((record.flags & FrameRecord::Gap) == 0)
      flags &= ~static_cast<uint32_t>(FrameRecord::Gap);
  }
  GST_BUFFER_DURATION(buffer) = from_ns(duration);
  if ((flags & FrameRecord::Discontinuity) != 0)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
  if ((flags & FrameRecord::Gap) != 0)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
  if ((flags & FrameRecord::Corrupted) != 0)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_CORRUPTED);
}

// Every byte is written: what lies between rows is zero.
void copy_planes(
    const guint8 *from, const GstVideoInfo &packed, guint8 *to, const GstVideoInfo &standard) {
  std::memset(to, 0, standard.size);
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&standard); ++plane) {
    const auto row = static_cast<size_t>(packed.stride[plane]);
    // In every format of the table, component `plane` lies in plane `plane`.
    const auto rows = static_cast<size_t>(GST_VIDEO_INFO_COMP_HEIGHT(&standard, plane));
    for (size_t y = 0; y < rows; ++y)
      std::memcpy(
          to + standard.offset[plane] + y * static_cast<size_t>(standard.stride[plane]),
          from + packed.offset[plane] + y * row, row);
  }
}

BufferPtr copy_to_default(
    BufferPtr buffer, const OutputLayout &layout, const GstVideoInfo &packed) {
  GstVideoInfo standard;
  gst_video_info_set_format(
      &standard, layout.format, static_cast<guint>(layout.width),
      static_cast<guint>(layout.height));
  BufferPtr copy(gst_buffer_new_allocate(nullptr, standard.size, nullptr));
  GstMapInfo from, to;
  if (copy == nullptr || !gst_buffer_map(buffer.get(), &from, GST_MAP_READ))
    return nullptr;
  if (gst_buffer_map(copy.get(), &to, GST_MAP_WRITE)) {
    copy_planes(from.data, packed, to.data, standard);
    gst_buffer_unmap(copy.get(), &to);
    gst_buffer_copy_into(
        copy.get(), buffer.get(), static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_METADATA), 0,
        static_cast<gsize>(-1));
  } else {
    copy.reset();
  }
  gst_buffer_unmap(buffer.get(), &from);
  return copy;
}

}  // namespace

BufferError::BufferError(const std::string &text, const GstBuffer *buffer)
    : std::invalid_argument(text), timestamp(GST_BUFFER_PTS(buffer)),
      duration(GST_BUFFER_DURATION(buffer)) {}

runtime::InputFrames map_input(BufferPtr buffer, const InputStream &stream) {
  // The buffer may be gone once the frames are mapped.
  auto records = records_of(buffer.get(), stream);
  auto frames = stream.row->kind == CapsRow::Kind::Video ? map_picture(std::move(buffer), stream)
                                                         : map_tensor(std::move(buffer), stream);
  frames.records = std::move(records);
  return frames;
}

BufferPtr wrap_output(runtime::OutputFrames &&frames, const OutputLayout &layout) {
  const size_t bytes = frames.desc->num_bytes();
  BufferPtr buffer(gst_buffer_new());
  auto *release = new std::function<void()>(std::move(frames.release));
  gst_buffer_append_memory(
      buffer.get(),
      gst_memory_new_wrapped(
          static_cast<GstMemoryFlags>(0), frames.data, bytes, 0, bytes, release, give_back));
  stamp(buffer.get(), frames.records);
  if (!frames.records.empty())
    restore(buffer.get(), frames.records.back(), layout, frames.records.size() == 1);
  return buffer;
}

BufferPtr to_downstream_layout(
    BufferPtr buffer, const OutputLayout &layout, bool takes_video_meta) {
  if (packed_is_default(layout))
    return buffer;
  GstVideoInfo packed = packed_video_info(layout);
  if (!takes_video_meta)
    return copy_to_default(std::move(buffer), layout, packed);
  gst_buffer_add_video_meta_full(
      buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, layout.format, static_cast<guint>(layout.width),
      static_cast<guint>(layout.height), GST_VIDEO_INFO_N_PLANES(&packed), packed.offset,
      packed.stride);
  return buffer;
}

}  // namespace holoflow::gst
