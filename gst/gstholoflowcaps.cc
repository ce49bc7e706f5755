// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps to tensors: the table and the input's direction. The output's is in
// gstholoflowoutputcaps.cc.
#include "gstholoflowcaps.h"

#include <algorithm>

#include "gstholoflowtensorcaps.h"
#include "holoflow/media/picture_formats.hh"

namespace holoflow::gst {

namespace {

using core::DType;
using Kind = CapsRow::Kind;

// The pictures of the shared table, then tensors.
const std::vector<CapsRow> &rows() {
  static const std::vector<CapsRow> all = [] {
    std::vector<CapsRow> result;
    for (const media::PictureFormat &format : media::picture_formats())
      result.push_back(
          {Kind::Video, gst_video_format_from_string(format.name.data()), format.dtype,
           format.channels, format.luma_of_yuv});
    for (const DType dtype : {DType::U8, DType::U16, DType::F32})
      result.push_back({Kind::Tensors, GST_VIDEO_FORMAT_UNKNOWN, dtype});
    for (const DType dtype : {DType::U8, DType::U16, DType::F32, DType::CF32})
      result.push_back({Kind::HoloflowTensor, GST_VIDEO_FORMAT_UNKNOWN, dtype});
    return result;
  }();
  return all;
}

const CapsRow &row_of(const media::PictureFormat &format) {
  return *std::find_if(rows().begin(), rows().end(), [&](const CapsRow &row) {
    return row.kind == Kind::Video && row.name() == format.name;
  });
}

std::string formats_taken(const std::string &as) {
  std::string text;
  for (const CapsRow *row : input_rows(as)) {
    if (row->kind != Kind::Video)
      continue;
    text += (text.empty() ? "" : ", ") + row->name();
  }
  return text;
}

// What makes the format one that this Input takes.
std::string advice_for(const std::string &format, const std::string &as) {
  const auto insert = [](const char *wanted) {
    return std::string("insert \"videoconvert ! video/x-raw,format=") + wanted +
        "\" before holoflowbin";
  };
  if (format == "GRAY16_BE" && (media::as_they_come(as) || as == "GRAY"))
    return insert("GRAY16_LE");
  if (media::as_they_come(as) && (format == "NV12" || format == "I420"))
    return "say \"as\": \"GRAY\" on the Input node to get the luma plane, or " + insert("RGB");
  return insert(as == "GRAY" || format.starts_with("GRAY") ? "GRAY8" : "RGB");
}

[[noreturn]] void refuse_format(const GstStructure *structure, const std::string &as) {
  const char *format = gst_structure_get_string(structure, "format");
  const std::string got = format != nullptr ? format : "no single format";
  throw CapsError(
      "expected video/x-raw as " + formats_taken(as) +
      (as.empty() ? "" : " (\"as\": \"" + as + "\")") + ", got " + got + "; " +
      advice_for(got, as));
}

const CapsRow *find_video_row(GstVideoFormat format, const std::string &as) {
  for (const CapsRow *row : input_rows(as))
    if (row->kind == Kind::Video && row->format == format)
      return row;
  return nullptr;
}

void refuse_foreign_memory(const GstCaps *caps) {
  const GstCapsFeatures *features = gst_caps_get_features(caps, 0);
  if (features == nullptr || gst_caps_features_is_any(features) ||
      gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
    return;
  const TextPtr got(gst_caps_features_to_string(features));
  const std::string text = got.get();
  std::string advice = "insert an element that brings it to system memory";
  if (text.find("CUDAMemory") != std::string::npos)
    advice = "insert \"cudadownload\"";
  else if (text.find("GLMemory") != std::string::npos)
    advice = "insert \"gldownload\"";
  else if (text.find("NVMM") != std::string::npos)
    advice = "insert \"nvvideoconvert ! video/x-raw\"";
  else if (text.find("Interlaced") != std::string::npos)
    advice = "insert \"deinterlace\"";
  throw CapsError(
      "expected caps in system memory, got the feature " + text + "; " + advice +
      " before holoflowbin");
}

void refuse_interlaced(const GstStructure *structure) {
  const char *mode = gst_structure_get_string(structure, "interlace-mode");
  if (mode == nullptr || std::string(mode) == "progressive")
    return;
  throw CapsError(
      std::string("expected progressive video, got interlace-mode=") + mode +
      "; insert \"deinterlace\" before holoflowbin");
}

Rate rate_of(const GstStructure *structure) {
  Rate rate;
  if (!gst_structure_get_fraction(structure, "framerate", &rate.numerator, &rate.denominator) ||
      !rate.known())
    return {};
  return rate;
}

core::TDesc video_frame(const CapsRow &row, const std::string &as, size_t width, size_t height) {
  return media::picture_tensor(*media::find_picture_format(row.name()), as, width, height);
}

const char *matrix_name(GstVideoColorMatrix matrix) {
  switch (matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT601:
    return "bt601";
  case GST_VIDEO_COLOR_MATRIX_BT709:
    return "bt709";
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return "bt2020";
  case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    return "smpte240m";
  case GST_VIDEO_COLOR_MATRIX_RGB:
    return "rgb";
  default:
    return "";
  }
}

InputStream parse_video(const GstCaps *caps, const std::string &as) {
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  refuse_foreign_memory(caps);
  refuse_interlaced(structure);
  const char *format = gst_structure_get_string(structure, "format");
  InputStream stream;
  stream.row =
      format == nullptr ? nullptr : find_video_row(gst_video_format_from_string(format), as);
  if (stream.row == nullptr)
    refuse_format(structure, as);
  if (!gst_video_info_from_caps(&stream.video, caps)) {
    const TextPtr text(gst_caps_to_string(caps));
    throw CapsError(
        std::string("expected video with a width and a height whose frame is smaller "
                    "than 4 GiB, got ") +
        text.get());
  }
  stream.rate = rate_of(structure);
  stream.frame = video_frame(
      *stream.row, as, static_cast<size_t>(stream.video.width),
      static_cast<size_t>(stream.video.height));
  auto &media = *stream.frame.media;
  media.colour_matrix = matrix_name(stream.video.colorimetry.matrix);
  switch (stream.video.colorimetry.range) {
  case GST_VIDEO_COLOR_RANGE_0_255:
    media.colour_range = "0-255";
    break;
  case GST_VIDEO_COLOR_RANGE_16_235:
    media.colour_range = "16-235";
    break;
  default:
    break;
  }
  return stream;
}

InputStream parse_tensor(const GstCaps *caps, const std::string &as) {
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  const bool nnstreamer = gst_structure_has_name(structure, tensors_name);
  if (!media::as_they_come(as))
    throw CapsError(
        "expected video/x-raw for \"as\": \"" + as + "\", got " +
        gst_structure_get_name(structure) + "; leave \"as\" out of the Input node to take tensors");
  refuse_foreign_memory(caps);
  InputStream stream;
  stream.buffer = nnstreamer ? read_nnstreamer(structure) : read_holoflow_tensor(structure);
  stream.rate = rate_of(structure);
  stream.frame = stream.buffer;
  if (stream.buffer.rank() >= 3) {
    auto shape = stream.buffer.shape;
    stream.frames = shape[0];
    shape[0] = 1;
    stream.frame = core::TDesc(shape, stream.buffer.dtype, core::MemLoc::Host);
    // Caps give the rate of buffers.
    if (stream.rate.known() &&
        !gst_util_fraction_multiply(
            stream.rate.numerator, stream.rate.denominator,
            static_cast<gint>(std::min<size_t>(stream.frames, G_MAXINT)), 1, &stream.rate.numerator,
            &stream.rate.denominator))
      stream.rate = {};
  }
  const Kind kind = nnstreamer ? Kind::Tensors : Kind::HoloflowTensor;
  const auto row = std::find_if(rows().begin(), rows().end(), [&](const CapsRow &candidate) {
    return candidate.kind == kind && candidate.dtype == stream.buffer.dtype;
  });
  if (row == rows().end())
    throw CapsError(
        "internal error: no row for tensors of " +
        std::string(core::to_string(stream.buffer.dtype)));
  stream.row = &*row;
  return stream;
}

}  // namespace

std::string CapsRow::name() const {
  if (kind == Kind::Video)
    return gst_video_format_to_string(format);
  return std::string(kind == Kind::Tensors ? tensors_name : holoflow_tensor_name) + " of " +
      std::string(core::to_string(dtype));
}

std::span<const CapsRow> caps_rows() {
  return rows();
}

std::vector<const CapsRow *> input_rows(const std::string &as) {
  std::vector<const CapsRow *> taken;
  for (const media::PictureFormat *format : media::formats_for(as))
    taken.push_back(&row_of(*format));
  if (media::as_they_come(as))
    for (const CapsRow &row : rows())
      if (row.kind != Kind::Video)
        taken.push_back(&row);
  return taken;
}

CapsPtr row_caps(const CapsRow &row) {
  if (row.kind == Kind::Video)
    return CapsPtr(gst_caps_new_simple(
        "video/x-raw", "format", G_TYPE_STRING, gst_video_format_to_string(row.format), "width",
        GST_TYPE_INT_RANGE, 1, G_MAXINT, "height", GST_TYPE_INT_RANGE, 1, G_MAXINT, "framerate",
        GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr));
  if (row.kind == Kind::Tensors)
    return CapsPtr(gst_caps_new_simple(
        tensors_name, "format", G_TYPE_STRING, "static", "num_tensors", G_TYPE_INT, 1, "types",
        G_TYPE_STRING, nnstreamer_type(row.dtype), nullptr));
  return CapsPtr(gst_caps_new_simple(
      holoflow_tensor_name, "dtype", G_TYPE_STRING, std::string(core::to_string(row.dtype)).c_str(),
      nullptr));
}

CapsPtr template_caps() {
  // One structure with a list of formats instead of ten.
  CapsPtr caps = row_caps(rows().front());
  GValue formats = G_VALUE_INIT;
  gst_value_list_init(&formats, rows().size());
  for (const CapsRow &row : rows()) {
    if (row.kind != Kind::Video)
      continue;
    GValue format = G_VALUE_INIT;
    g_value_init(&format, G_TYPE_STRING);
    g_value_set_static_string(&format, gst_video_format_to_string(row.format));
    gst_value_list_append_and_take_value(&formats, &format);
  }
  gst_structure_take_value(gst_caps_get_structure(caps.get(), 0), "format", &formats);
  for (const CapsRow &row : rows())
    if (row.kind != Kind::Video)
      gst_caps_append(caps.get(), row_caps(row).release());
  return caps;
}

InputStream parse_input_caps(const GstCaps *caps, const std::string &as) {
  if (caps == nullptr || gst_caps_get_size(caps) != 1 || gst_caps_is_any(caps) ||
      !gst_caps_is_fixed(caps)) {
    const TextPtr text(caps != nullptr ? gst_caps_to_string(caps) : g_strdup("none"));
    throw CapsError(std::string("expected fixed caps, got ") + text.get());
  }
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  const bool is_video = gst_structure_has_name(structure, "video/x-raw");
  if (is_video || gst_structure_has_name(structure, tensors_name) ||
      gst_structure_has_name(structure, holoflow_tensor_name)) {
    InputStream stream = is_video ? parse_video(caps, as) : parse_tensor(caps, as);
    stream.caps = keep(caps);
    return stream;
  }
  const std::string name = gst_structure_get_name(structure);
  const bool encoded = name.starts_with("video/") || name.starts_with("image/");
  throw CapsError(
      "expected video/x-raw, " + std::string(tensors_name) + " or " + holoflow_tensor_name +
      ", got " + name + "; insert " +
      (encoded ? "\"decodebin\"" : "an element that makes video/x-raw") + " before holoflowbin");
}

core::TDesc placeholder_frame(
    const CapsRow &row, const std::string &as, size_t width, size_t height) {
  if (row.kind == Kind::Video)
    return video_frame(row, as, width, height);
  return core::TDesc({1, height, width}, row.dtype, core::MemLoc::Host);
}

}  // namespace holoflow::gst
