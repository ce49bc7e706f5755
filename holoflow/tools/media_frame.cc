// SPDX-License-Identifier: LGPL-2.1-or-later
// The table between caps and tensors, for frames that lie without gaps.
#include "holoflow/tools/media_frame.hh"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "holoflow/core/text.hh"
#include "holoflow/media/picture_formats.hh"
#include "holoflow/media/tensor_caps.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tools/caps_text.hh"

namespace holoflow::tools {

namespace {

using core::DType;
using core::MemLoc;
using core::TDesc;
using media::PictureFormat;

// As GStreamer: a frame has to stay below 4 GiB.
constexpr size_t largest_side = 65535;
constexpr size_t largest_frame_bytes = std::numeric_limits<uint32_t>::max();

const PictureFormat &find_format(const std::string &name) {
  if (const PictureFormat *format = media::find_picture_format(name))
    return *format;
  std::vector<std::string> names;
  std::string known;
  for (const PictureFormat &format : media::picture_formats()) {
    names.emplace_back(format.name);
    known += (known.empty() ? "" : ", ") + names.back();
  }
  throw std::invalid_argument(
      "expected format=" + known + ", got \"" + name + "\"" + core::suggestion(name, names) +
      "; convert it first, in GStreamer with \"videoconvert\"");
}

void check_size(const std::string &what, size_t value) {
  if (value == 0 || value > largest_side)
    throw std::invalid_argument(
        "expected " + what + " between 1 and " + std::to_string(largest_side) + ", got " +
        std::to_string(value));
}

size_t check_bytes(size_t bytes) {
  if (bytes > largest_frame_bytes)
    throw std::invalid_argument(
        "expected a frame below 4 GiB, got one of " + std::to_string(bytes) + " bytes");
  return bytes;
}

size_t positive_number(const CapsText &caps, const std::string &field) {
  const CapsText::Field *found = caps.find(field);
  if (found == nullptr)
    throw std::invalid_argument(
        "expected " + field + " in " + caps.media_type + ", got none; add \"," + field + "=480\"");
  const std::string &text = found->value;
  size_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value == 0)
    throw std::invalid_argument(
        "expected " + field + " as a positive number, got \"" + text + "\"");
  return value;
}

MediaFrame tensor_frame(const TDesc &tensor) {
  MediaFrame frame = array_frame(tensor.shape, tensor.dtype);
  frame.picture_format.clear();  // as in holoflowbin, "as" is for pictures
  return frame;
}

MediaFrame frame_of_tensors(const CapsText &caps) {
  return tensor_frame(media::tensor_from_nnstreamer(
      {caps.value("format"), caps.value("num_tensors"), caps.value("types"),
       caps.value("dimensions")}));
}

MediaFrame frame_of_holoflow_tensor(const CapsText &caps) {
  return tensor_frame(media::tensor_from_holoflow(caps.value("dtype"), caps.value("shape")));
}

MediaFrame frame_of_video(const CapsText &caps) {
  const auto mode = caps.value("interlace-mode");
  if (!mode.empty() && mode != "progressive")
    throw std::invalid_argument(
        "expected progressive video, got interlace-mode=" + mode + "; deinterlace it first");
  const auto *format = caps.find("format");
  if (format == nullptr)
    throw std::invalid_argument("expected format in video/x-raw, got none; add \",format=GRAY8\"");
  const size_t width = positive_number(caps, "width");
  return picture_frame(format->value, width, positive_number(caps, "height"));
}

void check_as(const MediaFrame &frame, const PictureFormat &format, const std::string &as) {
  if (media::takes_format(format, as))
    return;
  if (media::as_they_come(as))
    throw std::invalid_argument(
        "expected a format without planes, got " + frame.picture_format +
        "; say \"as\": \"GRAY\" on the Input node to get the luma plane, or convert it to RGB");
  throw std::invalid_argument(
      "expected a picture of 8 bits without planes for \"as\": \"" + as + "\", got " +
      frame.picture_format + "; convert it to " + as + " first");
}

}  // namespace

MediaFrame picture_frame(const std::string &name, size_t width, size_t height) {
  const PictureFormat &format = find_format(name);
  check_size("width", width);
  check_size("height", height);
  MediaFrame frame;
  frame.picture_format = name;
  frame.width = width;
  frame.height = height;
  std::vector<size_t> shape = {1, height, width};
  if (format.channels > 1)
    shape.push_back(format.channels);
  frame.tensor = TDesc(shape, format.dtype, MemLoc::Host);
  frame.bytes = frame.tensor.num_bytes();
  if (format.luma_of_yuv)
    frame.bytes += 2 * ((width + 1) / 2) * ((height + 1) / 2);
  check_bytes(frame.bytes);
  return frame;
}

MediaFrame array_frame(std::vector<size_t> shape, DType dtype) {
  MediaFrame frame;
  frame.is_array = true;
  if (shape.size() >= 3)
    shape[0] = 1;
  frame.tensor = TDesc(shape, dtype, MemLoc::Host);
  frame.bytes = check_bytes(frame.tensor.num_bytes());
  const bool grey = shape.size() == 3 && (dtype == DType::U8 || dtype == DType::U16);
  const bool colour = shape.size() == 4 && dtype == DType::U8 && (shape[3] == 3 || shape[3] == 4);
  if (grey)
    frame.picture_format = dtype == DType::U8 ? "GRAY8" : "GRAY16_LE";
  if (colour)
    frame.picture_format = shape[3] == 3 ? "RGB" : "RGBA";
  if (grey || colour) {
    frame.height = shape[1];
    frame.width = shape[2];
  }
  return frame;
}

MediaFrame sampled_frame(size_t width, size_t height, size_t channels, DType dtype) {
  std::vector<size_t> shape = {1, height, width};
  if (channels > 1)
    shape.push_back(channels);
  MediaFrame frame = array_frame(shape, dtype);
  frame.is_array = false;
  if (channels > 1) {
    frame.tensor.media.emplace();
    frame.tensor.media->channel_axis = 3;
  }
  return frame;
}

MediaFrame frame_of_caps(std::string_view text) {
  const CapsText caps = parse_caps(text);
  try {
    if (caps.media_type == "video/x-raw")
      return frame_of_video(caps);
    if (caps.media_type == "other/tensors")
      return frame_of_tensors(caps);
    if (caps.media_type == "application/x-holoflow-tensor")
      return frame_of_holoflow_tensor(caps);
  } catch (const std::overflow_error &) {
    throw std::invalid_argument("expected a tensor that fits memory, its shape overflows");
  }
  throw std::invalid_argument(
      "expected video/x-raw, other/tensors or application/x-holoflow-tensor, got " +
      caps.media_type + "; say what the decoded frames are");
}

TDesc input_tensor(const MediaFrame &frame, const std::string &as) {
  if (frame.picture_format.empty()) {
    if (!media::as_they_come(as))
      throw std::invalid_argument(
          "expected a picture for \"as\": \"" + as + "\", got " + core::to_string(frame.tensor) +
          "; leave \"as\" out of the Input node to take tensors");
    return frame.tensor;
  }
  const PictureFormat &format = find_format(frame.picture_format);
  check_as(frame, format, as);
  if (as == "TENSOR" || (as.empty() && frame.is_array))
    return frame.tensor;
  return media::picture_tensor(format, as, frame.width, frame.height);
}

bool is_tensor_as_it_stands(const MediaFrame &frame, const TDesc &tensor) {
  return frame.bytes == tensor.num_bytes() && frame.tensor.shape == tensor.shape;
}

void convert_frame(
    const MediaFrame &frame, const std::byte *from, const TDesc &tensor, std::byte *to) {
  runtime::Picture picture;
  picture.format = frame.picture_format;
  picture.width = frame.width;
  picture.height = frame.height;
  // Only the first plane is read: pixels, or the luma of YUV.
  const PictureFormat &format = find_format(frame.picture_format);
  picture.planes[0] = {from, frame.width * format.channels * core::size_of(format.dtype)};
  tasks::check_picture(picture, tensor);
  tasks::copy_picture(picture, tensor, to);
}

}  // namespace holoflow::tools
