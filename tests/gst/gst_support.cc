// SPDX-License-Identifier: LGPL-2.1-or-later
// Helpers of the element's tests.
#include "gst_support.hh"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "gst/gstholoflowbin.h"
#include "gst/gstholoflowlog.h"

// A buffer that the element made passes through queues of GStreamer, whose locks ThreadSanitizer
// cannot see, before a test reads and frees it.
extern "C" const char *__tsan_default_suppressions();
extern "C" const char *__tsan_default_suppressions() {
  return "race:holoflow::gst::wrap_output\n";
}

namespace holoflow::test {

namespace {

// Longer than anything here takes, also under a sanitizer on a busy machine.
constexpr GstClockTime patience = 60 * GST_SECOND;

// Knows the element under test and what the tests put around it, nothing else: a scan of everything
// that is installed takes long and brings the leaks of other libraries.
class GstEnvironment : public ::testing::Environment {
public:
  void SetUp() override {
    Dl_info library;
    std::error_code error;
    std::filesystem::path installed;
    if (dladdr(reinterpret_cast<void *>(&gst_init), &library) != 0)
      installed =
          std::filesystem::canonical(library.dli_fname, error).parent_path() / "gstreamer-1.0";
    // Where GStreamer lies elsewhere, whoever put it there has said so.
    if (std::filesystem::is_directory(installed, error) &&
        g_getenv("GST_PLUGIN_SYSTEM_PATH_1_0") == nullptr &&
        g_getenv("GST_PLUGIN_SYSTEM_PATH") == nullptr) {
      folder_ =
          std::filesystem::temp_directory_path() / ("holoflow-gst-" + std::to_string(getpid()));
      std::filesystem::create_directories(folder_);
      for (const char *name : {"coreelements", "videotestsrc", "videoconvertscale"}) {
        const std::string file = std::string("libgst") + name + ".so";
        std::filesystem::create_symlink(installed / file, folder_ / file, error);
      }
      g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", folder_.c_str(), TRUE);
      g_setenv("GST_REGISTRY_1_0", (folder_ / "registry.bin").c_str(), TRUE);
    }
    g_unsetenv("GST_PLUGIN_PATH_1_0");
    gst_init(nullptr, nullptr);
    gst::init_log();
    gst_element_register(nullptr, "holoflowbin", GST_RANK_NONE, GST_TYPE_HOLOFLOW_BIN);
  }
  void TearDown() override {
    std::error_code error;
    if (!folder_.empty())
      std::filesystem::remove_all(folder_, error);
  }

private:
  std::filesystem::path folder_;
};
const auto *const environment = ::testing::AddGlobalTestEnvironment(new GstEnvironment);

}  // namespace

Message to_message(GstMessage *message) {
  Message result;
  result.type = GST_MESSAGE_TYPE(message);
  if (GST_MESSAGE_SRC(message) != nullptr)
    result.source = GST_OBJECT_NAME(GST_MESSAGE_SRC(message));
  GError *error = nullptr;
  gchar *detail = nullptr;
  if (result.type == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, &detail);
  if (result.type == GST_MESSAGE_WARNING)
    gst_message_parse_warning(message, &error, &detail);
  if (error != nullptr) {
    result.domain = error->domain;
    result.code = error->code;
    result.text = error->message;
    g_error_free(error);
  } else if (const GstStructure *structure = gst_message_get_structure(message)) {
    result.text = gst_structure_get_name(structure);
  }
  if (detail != nullptr)
    result.detail = detail;
  g_free(detail);
  return result;
}

Pipeline::Pipeline(const std::string &description) {
  GError *error = nullptr;
  pipeline_ = gst_parse_launch(description.c_str(), &error);
  if (error != nullptr) {
    ADD_FAILURE() << description << ": " << error->message;
    g_error_free(error);
  }
  if (pipeline_ != nullptr && !GST_IS_PIPELINE(pipeline_)) {
    GstElement *single = pipeline_;
    pipeline_ = gst_pipeline_new(nullptr);
    gst_bin_add(GST_BIN(pipeline_), single);
  }
}

Pipeline::~Pipeline() {
  if (pipeline_ == nullptr)
    return;
  gst_element_set_state(pipeline_, GST_STATE_NULL);
  gst_object_unref(pipeline_);
}

void Pipeline::keep(GstMessage *message) {
  messages_.push_back(to_message(message));
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_LATENCY)
    gst_bin_recalculate_latency(GST_BIN(pipeline_));
  gst_message_unref(message);
}

bool Pipeline::wait_for(GstMessageType types) {
  GstBus *bus = gst_element_get_bus(pipeline_);
  bool found = false;
  while (!found) {
    GstMessage *message = gst_bus_timed_pop(bus, patience);
    if (message == nullptr)
      break;
    found = (GST_MESSAGE_TYPE(message) & types) != 0;
    keep(message);
  }
  gst_object_unref(bus);
  return found;
}

bool Pipeline::run() {
  if (set_state(GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
    // The error is on the bus already.
    return wait_for(GST_MESSAGE_ERROR);
  }
  return wait_for(static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
}

GstStateChangeReturn Pipeline::set_state(GstState state) {
  return gst_element_set_state(pipeline_, state);
}

GstStateChangeReturn Pipeline::wait_for_state() {
  return gst_element_get_state(pipeline_, nullptr, nullptr, patience);
}

std::vector<Message> Pipeline::messages_of(GstMessageType type) const {
  std::vector<Message> found;
  for (const auto &message : messages_)
    if (message.type == type)
      found.push_back(message);
  return found;
}

GstElement *Pipeline::element(const char *name) const {
  GstElement *element = gst_bin_get_by_name(GST_BIN(pipeline_), name);
  EXPECT_NE(element, nullptr) << name;
  gst_object_unref(element);
  return element;
}

BufferCounter::BufferCounter(GstElement *element, const char *pad)
    : pad_(gst_element_get_static_pad(element, pad)),
      id_(gst_pad_add_probe(pad_, GST_PAD_PROBE_TYPE_BUFFER, probe, this, nullptr)) {}

BufferCounter::~BufferCounter() {
  gst_pad_remove_probe(pad_, id_);
  gst_object_unref(pad_);
}

GstPadProbeReturn BufferCounter::probe(GstPad *, GstPadProbeInfo *, gpointer self) {
  auto *counter = static_cast<BufferCounter *>(self);
  std::lock_guard lock(counter->mutex_);
  ++counter->count_;
  return GST_PAD_PROBE_OK;
}

guint64 BufferCounter::count() const {
  std::lock_guard lock(mutex_);
  return count_;
}

std::string passthrough(const std::string &as) {
  const std::string params = as.empty() ? "{}" : "{\"as\":\"" + as + "\"}";
  return "{\"nodes\":{\"in\":{\"type\":\"Input\",\"params\":" + params +
      "},\"out\":{\"type\":\"Output\"}},\"edges\":[\"in->out\"]}";
}

std::string queued(const std::string &as, const std::string &params) {
  const std::string input = as.empty() ? "{}" : "{\"as\":\"" + as + "\"}";
  return "{\"nodes\":{\"in\":{\"type\":\"Input\",\"params\":" + input +
      "},\"q\":{\"type\":\"BatchQueue\",\"params\":{" + params +
      "}},\"out\":{\"type\":\"Output\"}},\"edges\":[\"in->q\",\"q->out\"]}";
}

Harness::Harness(const std::string &graph, const std::string &trace) : bus_(gst_bus_new()) {
  GstElement *element = gst_element_factory_make("holoflowbin", nullptr);
  EXPECT_NE(element, nullptr);
  g_object_set(element, "graph", graph.c_str(), nullptr);
  if (!trace.empty())
    g_object_set(element, "trace-location", trace.c_str(), nullptr);
  gst_element_set_bus(element, bus_);
  harness_ = gst_harness_new_with_element(element, "sink", "src");
  gst_object_unref(element);
}

Harness::~Harness() {
  gst_element_set_bus(harness_->element, nullptr);
  gst_harness_teardown(harness_);
  gst_object_unref(bus_);
}

guint64 Harness::stat(const char *field) const {
  GstStructure *stats = this->stats();
  guint64 value = 0;
  EXPECT_TRUE(gst_structure_get_uint64(stats, field, &value)) << field;
  gst_structure_free(stats);
  return value;
}

GstStructure *Harness::stats() const {
  GstStructure *stats = nullptr;
  g_object_get(harness_->element, "stats", &stats, nullptr);
  return stats;
}

std::vector<Message> Harness::messages(GstMessageType type) const {
  std::vector<Message> found;
  while (GstMessage *message = gst_bus_pop(bus_)) {
    if (GST_MESSAGE_TYPE(message) == type)
      found.push_back(to_message(message));
    gst_message_unref(message);
  }
  return found;
}

GstBuffer *buffer_of(const std::vector<guint8> &bytes) {
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, bytes.size(), nullptr);
  gst_buffer_fill(buffer, 0, bytes.data(), bytes.size());
  return buffer;
}

std::vector<guint8> bytes_of(GstBuffer *buffer) {
  std::vector<guint8> bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

std::vector<guint8> plane_of(GstBuffer *buffer, GstCaps *caps) {
  GstVideoInfo info;
  EXPECT_TRUE(gst_video_info_from_caps(&info, caps));
  GstVideoFrame frame;
  std::vector<guint8> pixels;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) {
    ADD_FAILURE() << "the buffer cannot be mapped";
    return pixels;
  }
  const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
  const auto row = static_cast<size_t>(info.width * GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0));
  const auto stride = static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0));
  for (int y = 0; y < info.height; ++y) {
    const auto *from = data + static_cast<size_t>(y) * stride;
    pixels.insert(pixels.end(), from, from + row);
  }
  gst_video_frame_unmap(&frame);
  return pixels;
}

std::vector<guint8> noise(size_t count, guint32 seed) {
  std::vector<guint8> bytes(count);
  guint32 state = seed * 2654435761u + 12345u;
  for (auto &byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<guint8>(state >> 24);
  }
  return bytes;
}

}  // namespace holoflow::test
