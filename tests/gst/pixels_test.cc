// SPDX-License-Identifier: LGPL-2.1-or-later
// Pixels through odd sizes, any stride, and every format that an Input takes.
#include <gtest/gtest.h>

#include <algorithm>

#include "gst_support.hh"

namespace holoflow::test {
namespace {

struct Size {
  int width, height;
};
constexpr Size sizes[] = {{1, 1}, {3, 3}, {641, 481}, {64, 48}, {642, 3}};

std::string caps_text(const std::string &format, Size size) {
  return "video/x-raw,format=" + format + ",width=" + std::to_string(size.width) +
      ",height=" + std::to_string(size.height) + ",framerate=30/1";
}

GstVideoInfo info_of(const std::string &format, Size size) {
  GstVideoInfo info;
  gst_video_info_set_format(
      &info, gst_video_format_from_string(format.c_str()), static_cast<guint>(size.width),
      static_cast<guint>(size.height));
  return info;
}

// Sends one frame through the graph; the pixels of plane 0 that come out, without padding.
std::vector<guint8> through(
    const std::string &graph, const std::string &caps, GstBuffer *buffer,
    GstBuffer **came = nullptr, bool video_meta = false) {
  Harness harness(graph);
  if (video_meta)
    gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_META_API_TYPE, nullptr);
  gst_harness_set_src_caps_str(harness.get(), caps.c_str());
  EXPECT_EQ(gst_harness_push(harness.get(), buffer), GST_FLOW_OK);
  GstBuffer *out = gst_harness_pull(harness.get());
  EXPECT_NE(out, nullptr);
  GstCaps *out_caps = gst_pad_get_current_caps(harness->sinkpad);
  auto pixels = plane_of(out, out_caps);
  gst_caps_unref(out_caps);
  if (came != nullptr)
    *came = out;
  else
    gst_buffer_unref(out);
  return pixels;
}

// The rows of plane 0 as they lie in a buffer with the default strides.
std::vector<guint8> rows_of(const std::vector<guint8> &bytes, const GstVideoInfo &info) {
  std::vector<guint8> rows;
  const auto row = static_cast<size_t>(info.width * GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0));
  for (int y = 0; y < info.height; ++y) {
    const auto begin = bytes.begin() + static_cast<ptrdiff_t>(y) * info.stride[0];
    rows.insert(rows.end(), begin, begin + static_cast<ptrdiff_t>(row));
  }
  return rows;
}

std::vector<guint8> grey_of(const std::vector<guint8> &rows, const GstVideoInfo &info) {
  if (!GST_VIDEO_INFO_IS_RGB(&info))
    return rows;
  const auto step = static_cast<size_t>(GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0));
  const size_t r = GST_VIDEO_INFO_COMP_POFFSET(&info, 0), g = GST_VIDEO_INFO_COMP_POFFSET(&info, 1),
               b = GST_VIDEO_INFO_COMP_POFFSET(&info, 2);
  std::vector<guint8> grey;
  for (size_t i = 0; i < rows.size(); i += step)
    grey.push_back(static_cast<guint8>(
        (299 * rows[i + r] + 587 * rows[i + g] + 114 * rows[i + b] + 500) / 1000));
  return grey;
}

TEST(Pixels, OfEveryFormatAndOddSizePassAsTheyStand) {
  for (const char *format : {"GRAY8", "RGB", "BGR", "RGBA", "BGRA", "RGBx", "BGRx"}) {
    for (const Size size : sizes) {
      SCOPED_TRACE(caps_text(format, size));
      const auto info = info_of(format, size);
      const auto bytes = noise(info.size);
      GstBuffer *came = nullptr;
      EXPECT_EQ(
          through(passthrough(""), caps_text(format, size), buffer_of(bytes), &came),
          rows_of(bytes, info));
      EXPECT_EQ(gst_buffer_get_size(came), info.size) << "default strides";
      gst_buffer_unref(came);
    }
  }
}

TEST(Pixels, OfSixteenBitsPassAsTheyStand) {
  for (const Size size : sizes) {
    SCOPED_TRACE(caps_text("GRAY16_LE", size));
    const auto info = info_of("GRAY16_LE", size);
    const auto bytes = noise(info.size);
    EXPECT_EQ(
        through(passthrough(), caps_text("GRAY16_LE", size), buffer_of(bytes)),
        rows_of(bytes, info));
  }
}

TEST(Pixels, BecomeGreyFromColourAndFromTheLumaPlane) {
  for (const char *format :
       {"GRAY8", "RGB", "BGR", "RGBA", "BGRA", "RGBx", "BGRx", "NV12", "I420"}) {
    for (const Size size : sizes) {
      SCOPED_TRACE(caps_text(format, size));
      const auto info = info_of(format, size);
      const auto bytes = noise(info.size);
      EXPECT_EQ(
          through(passthrough("GRAY"), caps_text(format, size), buffer_of(bytes)),
          grey_of(rows_of(bytes, info), info));
    }
  }
}

TEST(Pixels, BecomeTheGreyThatVideoconvertMakesOfI420) {
  const char *source = "videotestsrc num-buffers=3 pattern=smpte ! "
                       "video/x-raw,format=I420,width=322,height=240,framerate=30/1 ! tee name=t ";
  Pipeline pipeline(
      std::string(source) +
      "t. ! queue ! holoflowbin graph=\"{\\\"nodes\\\":{\\\"i\\\":{\\\"type\\\":"
      "\\\"Input\\\",\\\"params\\\":{\\\"as\\\":\\\"GRAY\\\"}},\\\"o\\\":{\\\"type\\\":"
      "\\\"Output\\\"}},\\\"edges\\\":[\\\"i->o\\\"]}\" ! fakesink name=a "
      "enable-last-sample=true "
      "t. ! queue ! videoconvert ! video/x-raw,format=GRAY8 ! fakesink name=b "
      "enable-last-sample=true");
  ASSERT_TRUE(pipeline.run());
  ASSERT_TRUE(pipeline.saw_eos());
  std::vector<std::vector<guint8>> pictures;
  for (const char *name : {"a", "b"}) {
    GstSample *sample = nullptr;
    g_object_get(pipeline.element(name), "last-sample", &sample, nullptr);
    ASSERT_NE(sample, nullptr);
    pictures.push_back(plane_of(gst_sample_get_buffer(sample), gst_sample_get_caps(sample)));
    gst_sample_unref(sample);
  }
  EXPECT_EQ(pictures[0], pictures[1]);
}

// The same picture in a buffer whose rows lie further apart and that begins later.
GstBuffer *padded(
    const std::vector<guint8> &bytes, const GstVideoInfo &info, size_t extra, size_t begin) {
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  size_t size = begin;
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  for (guint plane = 0; plane < planes; ++plane) {
    offset[plane] = size;
    stride[plane] = info.stride[plane] + static_cast<gint>(extra);
    size += static_cast<size_t>(stride[plane] * GST_VIDEO_INFO_COMP_HEIGHT(&info, plane)) + extra;
  }
  std::vector<guint8> spread(size, 0xa5);
  for (guint plane = 0; plane < planes; ++plane)
    for (int y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT(&info, plane); ++y)
      std::copy_n(
          bytes.begin() + static_cast<ptrdiff_t>(info.offset[plane]) +
              static_cast<ptrdiff_t>(y) * info.stride[plane],
          info.stride[plane],
          spread.begin() + static_cast<ptrdiff_t>(offset[plane]) +
              static_cast<ptrdiff_t>(y) * stride[plane]);
  GstBuffer *buffer = buffer_of(spread);
  gst_buffer_add_video_meta_full(
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
      static_cast<guint>(info.width), static_cast<guint>(info.height), planes, offset, stride);
  return buffer;
}

TEST(Pixels, AreReadThroughTheStridesOfAVideoMeta) {
  for (const char *format : {"GRAY8", "GRAY16_LE", "RGB", "BGRx", "NV12", "I420"}) {
    for (const Size size : {Size{3, 3}, Size{64, 48}, Size{641, 481}}) {
      SCOPED_TRACE(caps_text(format, size));
      const auto info = info_of(format, size);
      const auto bytes = noise(info.size);
      EXPECT_EQ(
          through(passthrough("GRAY"), caps_text(format, size), padded(bytes, info, 20, 64)),
          grey_of(rows_of(bytes, info), info));
    }
  }
}

TEST(Pixels, OfABufferInSeveralMemoriesAreRead) {
  const auto info = info_of("GRAY8", {64, 48});
  const auto bytes = noise(info.size);
  GstBuffer *buffer = buffer_of({bytes.begin(), bytes.begin() + 1000});
  buffer = gst_buffer_append(buffer, buffer_of({bytes.begin() + 1000, bytes.end()}));
  ASSERT_EQ(gst_buffer_n_memory(buffer), 2u);
  EXPECT_EQ(through(passthrough(), caps_text("GRAY8", {64, 48}), buffer), bytes);
}

TEST(Pixels, LeavePackedWhereDownstreamKnowsVideoMeta) {
  const Size size{641, 481};
  const auto info = info_of("RGB", size);
  const auto bytes = noise(info.size);
  GstBuffer *came = nullptr;
  EXPECT_EQ(
      through(passthrough(""), caps_text("RGB", size), buffer_of(bytes), &came, true),
      rows_of(bytes, info));
  const GstVideoMeta *meta = gst_buffer_get_video_meta(came);
  ASSERT_NE(meta, nullptr);
  EXPECT_EQ(meta->stride[0], 641 * 3);
  EXPECT_EQ(gst_buffer_get_size(came), 641u * 3 * 481);
  gst_buffer_unref(came);
}

TEST(Pixels, BetweenRowsAreZero) {
  const Size size{3, 2};
  GstBuffer *came = nullptr;
  through(passthrough(), caps_text("GRAY8", size), buffer_of({1, 2, 3, 9, 4, 5, 6, 9}), &came);
  EXPECT_EQ(bytes_of(came), (std::vector<guint8>{1, 2, 3, 0, 4, 5, 6, 0}));
  gst_buffer_unref(came);
}

TEST(Pixels, OfTensorsPassInEveryElementType) {
  for (const char *dtype : {"U8", "U16", "F32", "CF32"}) {
    SCOPED_TRACE(dtype);
    const std::string caps = std::string("application/x-holoflow-tensor,dtype=") + dtype +
        ",shape=(string)\"1,3,5,2\",framerate=30/1";
    const size_t element = dtype[0] == 'C' ? 8 : dtype[0] == 'F' ? 4 : dtype[1] == '8' ? 1 : 2;
    const auto bytes = noise(30 * element);
    Harness harness(passthrough(""));
    gst_harness_set_src_caps_str(harness.get(), caps.c_str());
    ASSERT_EQ(gst_harness_push(harness.get(), buffer_of(bytes)), GST_FLOW_OK);
    GstBuffer *came = gst_harness_pull(harness.get());
    EXPECT_EQ(bytes_of(came), bytes);
    gst_buffer_unref(came);
  }
}

TEST(Pixels, OfATensorWithManyFramesLeaveFrameByFrameWithTheirShareOfTime) {
  Harness harness(passthrough(""));
  gst_harness_set_src_caps_str(
      harness.get(),
      "application/x-holoflow-tensor,dtype=F32,"
      "shape=(string)\"4,2,3\",framerate=5/1");
  const auto bytes = noise(4 * 24);
  GstBuffer *buffer = buffer_of(bytes);
  GST_BUFFER_PTS(buffer) = 1000;
  GST_BUFFER_DURATION(buffer) = 400;
  ASSERT_EQ(gst_harness_push(harness.get(), buffer), GST_FLOW_OK);
  for (size_t i = 0; i < 4; ++i) {
    GstBuffer *came = gst_harness_pull(harness.get());
    EXPECT_EQ(GST_BUFFER_PTS(came), 1000 + 100 * i);
    EXPECT_EQ(GST_BUFFER_DURATION(came), 100u);
    EXPECT_EQ(
        bytes_of(came),
        std::vector<guint8>(
            bytes.begin() + static_cast<ptrdiff_t>(i * 24),
            bytes.begin() + static_cast<ptrdiff_t>((i + 1) * 24)));
    gst_buffer_unref(came);
  }
}

}  // namespace
}  // namespace holoflow::test
