// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers that are not what their caps and metas say: dropped with the numbers, never read outside.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>

#include "../support/watchdog.hh"
#include "stream_script.hh"

namespace holoflow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A page is read only whole, so pictures are: what lies before and behind them cannot be read.
constexpr guint width = 64, height = 128;

std::string caps_of(const std::string &format) {
  return "video/x-raw,format=" + format + ",width=64,height=128,framerate=30/1";
}

struct Region {
  void *begin;
  size_t bytes;
};

void unmap(gpointer data) {
  auto *region = static_cast<Region *>(data);
  munmap(region->begin, region->bytes);
  delete region;
}

// Between two pages that cannot be read; it ends at the second one.
GstMemory *guarded(const std::vector<guint8> &bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t room = (bytes.size() + page - 1) / page * page;
  auto *begin = static_cast<guint8 *>(
      mmap(nullptr, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_NE(begin, MAP_FAILED);
  EXPECT_EQ(mprotect(begin + page, room, PROT_READ | PROT_WRITE), 0);
  guint8 *data = begin + page + room - bytes.size();
  std::copy(bytes.begin(), bytes.end(), data);
  return gst_memory_new_wrapped(
      static_cast<GstMemoryFlags>(0), data, bytes.size(), 0, bytes.size(),
      new Region{begin, room + 2 * page}, unmap);
}

GstBuffer *guarded_buffer(size_t bytes) {
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, guarded(noise(bytes)));
  return buffer;
}

GstVideoInfo info_of(GstVideoFormat format) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, width, height);
  return info;
}

// The meta that would be right, for tests to spoil.
GstVideoMeta *add_meta(GstBuffer *buffer, GstVideoFormat format) {
  GstVideoInfo info = info_of(format);
  return gst_buffer_add_video_meta_full(
      buffer, GST_VIDEO_FRAME_FLAG_NONE, format, width, height, GST_VIDEO_INFO_N_PLANES(&info),
      info.offset, info.stride);
}

GstFlowReturn push_at(Rig &rig, GstBuffer *buffer, guint64 ms) {
  GST_BUFFER_PTS(buffer) = ms * GST_MSECOND;
  GST_BUFFER_DURATION(buffer) = 10 * GST_MSECOND;
  return gst_harness_push(rig.harness(), buffer);
}

Rig &begun(Rig &rig, const std::string &format) {
  EXPECT_THAT(begin("a", caps_of(format))(rig), HasSubstr("caps: true"));
  return rig;
}

const Subject grey{.name = "one_section", .graph = passthrough("GRAY")};
const Subject any{.name = "any", .graph = passthrough("")};

// Between two good frames; the one behind it is marked, and the numbers are told.
void expect_dropped(Rig &rig, const std::string &format, GstBuffer *bad, const std::string &told) {
  GstVideoInfo info = info_of(gst_video_format_from_string(format.c_str()));
  begun(rig, format);
  EXPECT_EQ(push_at(rig, guarded_buffer(info.size), 0), GST_FLOW_OK);
  EXPECT_EQ(push_at(rig, bad, 10), GST_FLOW_OK);
  EXPECT_EQ(push_at(rig, guarded_buffer(info.size), 20), GST_FLOW_OK);
  EXPECT_EQ(push_at(rig, guarded_buffer(info.size), 30), GST_FLOW_OK);
  (void)eos()(rig);
  EXPECT_TRUE(rig.await("eos"));
  std::vector<std::string> buffers;
  for (const auto &item : rig.left())
    if (item.starts_with("buffer "))
      buffers.push_back(item);
  EXPECT_THAT(buffers, ElementsAre("buffer 0", "buffer 20 discont", "buffer 30"));
  const auto warnings = rig.messages(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, HasSubstr(told));
  EXPECT_THAT(rig.messages(GST_MESSAGE_ERROR), IsEmpty());
}

struct SpoiltMeta {
  std::string name;
  GstVideoFormat format;
  std::function<void(GstVideoMeta &)> spoil;
  std::string told;
};
std::ostream &operator<<(std::ostream &stream, const SpoiltMeta &meta) {
  return stream << meta.name;
}

class AMetaThatDoesNotFit : public ::testing::TestWithParam<SpoiltMeta> {};
INSTANTIATE_TEST_SUITE_P(
    Metas, AMetaThatDoesNotFit,
    ::testing::Values(
        SpoiltMeta{
            "stride_too_large", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.stride[0] = 65; },
            "rows 65 bytes apart"},
        SpoiltMeta{
            "stride_far_too_large", GST_VIDEO_FORMAT_GRAY8,
            [](auto &meta) { meta.stride[0] = std::numeric_limits<gint>::max(); },
            "rows 2147483647 bytes apart"},
        SpoiltMeta{
            "stride_too_small", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.stride[0] = 63; },
            "rows 63 bytes apart"},
        SpoiltMeta{
            "stride_zero", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.stride[0] = 0; },
            "rows 0 bytes apart"},
        SpoiltMeta{
            "stride_negative", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.stride[0] = -64; },
            "rows -64 bytes apart"},
        SpoiltMeta{
            "stride_most_negative", GST_VIDEO_FORMAT_GRAY8,
            [](auto &meta) { meta.stride[0] = std::numeric_limits<gint>::min(); },
            "rows -2147483648 bytes apart"},
        SpoiltMeta{
            "offset_one", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.offset[0] = 1; },
            "plane 0 at byte 1 "},
        SpoiltMeta{
            "offset_at_the_end", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.offset[0] = 8192; },
            "inside of its 8192 bytes"},
        SpoiltMeta{
            "offset_largest", GST_VIDEO_FORMAT_GRAY8,
            [](auto &meta) { meta.offset[0] = std::numeric_limits<gsize>::max(); },
            "plane 0 at byte 18446744073709551615 "},
        SpoiltMeta{
            "taller", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.height = 129; },
            "got GRAY8 64x129"},
        SpoiltMeta{
            "lower", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.height = 0; }, "got GRAY8 64x0"},
        SpoiltMeta{
            "wider", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.width = 65; },
            "got GRAY8 65x128"},
        SpoiltMeta{
            "another_format", GST_VIDEO_FORMAT_GRAY8,
            [](auto &meta) { meta.format = GST_VIDEO_FORMAT_RGB; }, "got RGB 64x128"},
        SpoiltMeta{
            "unknown_format", GST_VIDEO_FORMAT_GRAY8,
            [](auto &meta) { meta.format = GST_VIDEO_FORMAT_UNKNOWN; },
            "got an unknown format (0)"},
        SpoiltMeta{
            "no_format_at_all", GST_VIDEO_FORMAT_GRAY8,
            [](auto &meta) { meta.format = static_cast<GstVideoFormat>(100000); },
            "got an unknown format (100000)"},
        SpoiltMeta{
            "no_plane", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.n_planes = 0; },
            "plane count 0"},
        SpoiltMeta{
            "too_many_planes", GST_VIDEO_FORMAT_GRAY8, [](auto &meta) { meta.n_planes = 1000; },
            "plane count 1000"},
        SpoiltMeta{
            "one_plane_of_NV12", GST_VIDEO_FORMAT_NV12, [](auto &meta) { meta.n_planes = 1; },
            "plane count 1"},
        SpoiltMeta{
            "luma_of_NV12_outside", GST_VIDEO_FORMAT_NV12,
            [](auto &meta) { meta.offset[0] = 4097; }, "plane 0 at byte 4097 "},
        SpoiltMeta{
            "chroma_of_NV12_outside", GST_VIDEO_FORMAT_NV12,
            [](auto &meta) { meta.offset[1] = 8193; }, "plane 1 at byte 8193 "},
        SpoiltMeta{
            "chroma_stride_of_NV12", GST_VIDEO_FORMAT_NV12, [](auto &meta) { meta.stride[1] = 66; },
            "rows 66 bytes apart"},
        SpoiltMeta{
            "last_plane_of_I420_outside", GST_VIDEO_FORMAT_I420,
            [](auto &meta) { meta.offset[2] = 10241; }, "plane 2 at byte 10241 "},
        SpoiltMeta{
            "stride_of_I420", GST_VIDEO_FORMAT_I420, [](auto &meta) { meta.stride[1] = 97; },
            "rows 97 bytes apart"},
        SpoiltMeta{
            "stride_of_RGB", GST_VIDEO_FORMAT_RGB, [](auto &meta) { meta.stride[0] = 191; },
            "rows 191 bytes apart"}),
    [](const auto &info) { return info.param.name; });

TEST_P(AMetaThatDoesNotFit, DropsTheBuffer) {
  const Watchdog watchdog("a hostile buffer stops the stream");
  Rig rig(grey);
  GstBuffer *buffer = guarded_buffer(info_of(GetParam().format).size);
  GetParam().spoil(*add_meta(buffer, GetParam().format));
  expect_dropped(rig, gst_video_format_to_string(GetParam().format), buffer, GetParam().told);
}

TEST(HostileBuffers, ThatAreShortAreDropped) {
  const Watchdog watchdog("a short buffer stops the stream");
  for (const char *format : {"GRAY8", "GRAY16_LE", "RGB", "NV12", "I420"})
    for (const bool with_meta : {false, true}) {
      SCOPED_TRACE(format);
      const auto known = gst_video_format_from_string(format);
      const size_t size = info_of(known).size;
      for (const size_t bytes : {size_t{1}, size / 2, size - 1}) {
        Rig rig(grey);
        GstBuffer *buffer = guarded_buffer(bytes);
        if (with_meta)
          add_meta(buffer, known);
        expect_dropped(rig, format, buffer, std::to_string(bytes) + " bytes");
      }
    }
}

TEST(HostileBuffers, ThatAreShortInManyMemoriesAreDropped) {
  const Watchdog watchdog("a short buffer stops the stream");
  Rig rig(grey);
  GstBuffer *buffer = gst_buffer_new();
  for (int i = 0; i < 15; ++i)
    gst_buffer_append_memory(buffer, guarded(noise(546)));
  expect_dropped(rig, "GRAY8", buffer, "got 8190 bytes");
}

// In pieces of so many bytes.
GstBuffer *pieces(const std::vector<guint8> &bytes, size_t piece) {
  GstBuffer *buffer = gst_buffer_new();
  for (size_t begin = 0; begin < bytes.size(); begin += piece)
    gst_buffer_append_memory(
        buffer,
        guarded(
            {bytes.begin() + static_cast<ptrdiff_t>(begin),
             bytes.begin() + static_cast<ptrdiff_t>(std::min(begin + piece, bytes.size()))}));
  return buffer;
}

std::vector<guint8> pulled(Rig &rig) {
  GstBuffer *buffer = gst_harness_pull(rig.harness());
  if (buffer == nullptr)
    return {};
  auto bytes = bytes_of(buffer);
  gst_buffer_unref(buffer);
  return bytes;
}

// gst_video_frame_map() maps the one memory in which a plane begins, if there is a meta.
TEST(HostileBuffers, OfManyMemoriesAreReadWhole) {
  const Watchdog watchdog("a buffer in pieces stops the stream");
  for (const auto format : {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12})
    for (const bool with_meta : {false, true})
      for (const size_t piece : {1000, 4096, 4097, 8191, 8192}) {
        SCOPED_TRACE(std::to_string(piece) + (with_meta ? " with a meta" : ""));
        Rig rig(grey);
        begun(rig, gst_video_format_to_string(format));
        const auto bytes = noise(info_of(format).size);
        GstBuffer *buffer = pieces(bytes, piece);
        if (with_meta)
          add_meta(buffer, format);
        EXPECT_EQ(push_at(rig, buffer, 0), GST_FLOW_OK);
        EXPECT_EQ(pulled(rig), std::vector(bytes.begin(), bytes.begin() + width * height));
      }
}

TEST(HostileBuffers, ThatAreEmptyAndHaveNoTimeLeaveNothing) {
  const Watchdog watchdog("an empty buffer stops the stream");
  Rig rig(grey);
  begun(rig, "GRAY8");
  EXPECT_EQ(gst_harness_push(rig.harness(), gst_buffer_new()), GST_FLOW_OK);
  EXPECT_EQ(push_at(rig, guarded_buffer(width * height), 0), GST_FLOW_OK);
  EXPECT_TRUE(rig.await("buffer 0"));
  EXPECT_EQ(buffers_with_caps(rig.left()).size(), 1u);
  EXPECT_THAT(rig.messages(GST_MESSAGE_WARNING), IsEmpty());
}

TEST(HostileBuffers, OfZeroBytesInAMemoryLeaveAsAGap) {
  const Watchdog watchdog("an empty buffer stops the stream");
  Rig rig(grey);
  begun(rig, "GRAY8");
  GstBuffer *empty = gst_buffer_new_allocate(nullptr, 0, nullptr);
  add_meta(empty, GST_VIDEO_FORMAT_GRAY8);
  EXPECT_EQ(push_at(rig, empty, 10), GST_FLOW_OK);
  EXPECT_TRUE(rig.await("gap 10"));
  EXPECT_THAT(rig.messages(GST_MESSAGE_WARNING), IsEmpty());
}

TEST(HostileBuffers, OfTensorsAreDroppedIfTheyAreShort) {
  const Watchdog watchdog("a short tensor stops the stream");
  Rig rig(any);
  begin("a", "application/x-holoflow-tensor,dtype=F32,shape=\"1,64,16\",framerate=30/1")(rig);
  EXPECT_EQ(push_at(rig, guarded_buffer(4095), 0), GST_FLOW_OK);
  EXPECT_EQ(push_at(rig, guarded_buffer(4096), 10), GST_FLOW_OK);
  EXPECT_TRUE(rig.await("buffer 10 discont"));
  const auto warnings = rig.messages(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, HasSubstr("at least 4096 bytes"));
  EXPECT_THAT(warnings[0].text, HasSubstr("got 4095 bytes"));
}

// "live, running, stream, timestamp, duration in ms; processed/dropped" of each QOS message.
std::vector<std::string> qos_of(GstElement *element) {
  GstBus *bus = gst_element_get_bus(element);
  std::vector<std::string> all;
  while (GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_QOS)) {
    gboolean live = TRUE;
    guint64 running = 0, stream = 0, timestamp = 0, duration = 0, processed = 0, dropped = 0;
    GstFormat format = GST_FORMAT_UNDEFINED;
    gst_message_parse_qos(message, &live, &running, &stream, &timestamp, &duration);
    gst_message_parse_qos_stats(message, &format, &processed, &dropped);
    std::string text = live ? "live" : "not live";
    for (const guint64 time : {running, stream, timestamp, duration})
      text += " " + (GST_CLOCK_TIME_IS_VALID(time) ? std::to_string(time / GST_MSECOND) : "none");
    all.push_back(
        text + "; " + gst_format_get_name(format) + " " + std::to_string(processed) + "/" +
        std::to_string(dropped));
    gst_message_unref(message);
  }
  gst_object_unref(bus);
  return all;
}

TEST(HostileBuffers, AreToldAsQualityOfService) {
  const Watchdog watchdog("a short buffer stops the stream");
  Rig rig(grey);
  (void)stream_start()(rig);
  (void)caps()(rig);
  (void)segment(1000)(rig);
  (void)frames(1000, 3)(rig);
  (void)push_at(rig, guarded_buffer(31), 1030);
  (void)frames(1040, 2)(rig);
  (void)push_at(rig, guarded_buffer(1), 1060);
  GstBuffer *timeless = guarded_buffer(2);
  (void)gst_harness_push(rig.harness(), timeless);
  EXPECT_THAT(
      qos_of(rig.element()),
      ElementsAre(
          "not live 30 1030 1030 10; buffers 3/1", "not live 60 1060 1060 10; buffers 5/2",
          "not live none none none none; buffers 5/3"));
}

TEST(HostileTimes, From2To63OnPassUnchanged) {
  constexpr guint64 half = guint64{1} << 63;
  for (const auto &subject : graphs()) {
    if (subject.warm_up > 0)
      continue;  // an average is another frame
    SCOPED_TRACE(subject);
    const Watchdog watchdog("odd times stop the stream");
    Rig rig(subject);
    (void)begin()(rig);
    const std::vector<guint64> times{half - 1, half, half + 5, GST_CLOCK_TIME_NONE - 1};
    for (const guint64 time : times) {
      GstBuffer *buffer = buffer_of(noise(rig.frame_bytes));
      GST_BUFFER_PTS(buffer) = time;
      GST_BUFFER_DTS(buffer) = time - 1;
      EXPECT_EQ(gst_harness_push(rig.harness(), buffer), GST_FLOW_OK);
    }
    for (const guint64 time : times) {
      GstBuffer *buffer = gst_harness_pull(rig.harness());
      ASSERT_NE(buffer, nullptr);
      EXPECT_EQ(GST_BUFFER_PTS(buffer), time);
      EXPECT_EQ(GST_BUFFER_DTS(buffer), time - 1);
      gst_buffer_unref(buffer);
    }
  }
}

}  // namespace
}  // namespace holoflow::test
