// SPDX-License-Identifier: LGPL-2.1-or-later
// Elements that scripts run on, each with a record of what leaves it.
#include "stream_rig.hh"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "../support/sanitizers.hh"

namespace holoflow::test {

namespace {

// Longer than anything here takes, also under a sanitizer on a busy machine.
constexpr std::chrono::seconds patience{20};

std::string sliding() {
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},)"
         R"("f":{"type":"Conversion","params":{"target":"F32"}},)"
         R"("avg":{"type":"SlidingAverage","params":{"window_size":2}},)"
         R"("u8":{"type":"Conversion","params":{"target":"U8"}},"out":{"type":"Output"}},)"
         R"("edges":["in->f","f->avg","avg->u8","u8->out"]})";
}

std::string caps_text(const GstCaps *caps) {
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  int width = 0, height = 0, numerator = 0, denominator = 1;
  gst_structure_get_int(structure, "width", &width);
  gst_structure_get_int(structure, "height", &height);
  gst_structure_get_fraction(structure, "framerate", &numerator, &denominator);
  return std::to_string(width) + "x" + std::to_string(height) + " " + std::to_string(numerator) +
      "/" + std::to_string(denominator);
}

std::string milliseconds(GstClockTime time) {
  return GST_CLOCK_TIME_IS_VALID(time) ? std::to_string(time / GST_MSECOND) : "none";
}

std::string item_of(GstBuffer *buffer) {
  std::string text = "buffer " + milliseconds(GST_BUFFER_PTS(buffer));
  const std::pair<GstBufferFlags, const char *> marks[] = {
      {GST_BUFFER_FLAG_DISCONT, " discont"},
      {GST_BUFFER_FLAG_GAP, " gap"},
      {GST_BUFFER_FLAG_CORRUPTED, " corrupted"}};
  for (const auto &[flag, word] : marks)
    if (GST_BUFFER_FLAG_IS_SET(buffer, flag))
      text += word;
  return text;
}

std::string item_of(GstEvent *event) {
  std::string text = GST_EVENT_TYPE_NAME(event);
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_STREAM_START: {
    const gchar *id = nullptr;
    gst_event_parse_stream_start(event, &id);
    return text + " " + id;
  }
  case GST_EVENT_CAPS: {
    GstCaps *caps = nullptr;
    gst_event_parse_caps(event, &caps);
    return text + " " + caps_text(caps);
  }
  case GST_EVENT_SEGMENT: {
    const GstSegment *segment = nullptr;
    gst_event_parse_segment(event, &segment);
    return text + " " + milliseconds(segment->start);
  }
  case GST_EVENT_GAP: {
    GstClockTime time = GST_CLOCK_TIME_NONE;
    gst_event_parse_gap(event, &time, nullptr);
    return text + " " + milliseconds(time);
  }
  case GST_EVENT_CUSTOM_DOWNSTREAM:
    return gst_structure_get_name(gst_event_get_structure(event));
  default:
    return text;
  }
}

GstElement *make(const Subject &subject) {
  if (subject.is_holoflow()) {
    GstElement *element = gst_element_factory_make("holoflowbin", nullptr);
    g_object_set(element, "graph", subject.graph.c_str(), nullptr);
    return element;
  }
  GstElement *element = gst_element_factory_make(subject.name.c_str(), nullptr);
  if (!subject.caps.empty()) {
    GstCaps *caps = gst_caps_from_string(subject.caps.c_str());
    g_object_set(element, "caps", caps, nullptr);
    gst_caps_unref(caps);
  }
  return element;
}

}  // namespace

std::ostream &operator<<(std::ostream &stream, const Subject &subject) {
  return stream << subject.name;
}

std::string name_of(const ::testing::TestParamInfo<Subject> &info) {
  return info.param.name;
}

const Subject &identity() {
  static const Subject subject{.name = "identity"};
  return subject;
}

std::vector<Subject> graphs() {
  return {
      {.name = "one_section", .graph = passthrough()},
      {.name = "two_sections", .graph = queued("GRAY", "\"target_capacity\":16")},
      {.name = "window_of_4",
       .graph = queued("GRAY", "\"target_capacity\":16,\"output_size\":4,\"output_stride\":4")},
      {.name = "sliding_average", .graph = sliding(), .warm_up = 1}};
}

std::vector<Subject> all_subjects() {
  return with_queue(identity_and_graphs());
}

// The thread sanitizer does not see the locks of GStreamer, with which `queue` hands buffers over.
std::vector<Subject> with_queue(std::vector<Subject> subjects) {
  if (!thread_sanitizer)
    subjects.push_back({.name = "queue"});
  return subjects;
}

std::vector<Subject> identity_and_graphs() {
  auto subjects = graphs();
  subjects.insert(subjects.begin(), identity());
  return subjects;
}

Rig::Rig(const Subject &subject) : bus_(gst_bus_new()) {
  GstElement *element = make(subject);
  gst_element_set_bus(element, bus_);
  harness_ = gst_harness_new_with_element(element, "sink", "src");
  gst_object_unref(element);
  gst_pad_add_probe(
      harness_->sinkpad,
      static_cast<GstPadProbeType>(
          GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
          GST_PAD_PROBE_TYPE_EVENT_FLUSH),
      probe, this, nullptr);
}

Rig::~Rig() {
  open_gate();
  if (other_.joinable())
    other_.join();
  gst_element_set_bus(harness_->element, nullptr);
  gst_harness_teardown(harness_);
  gst_object_unref(bus_);
}

std::vector<std::string> Rig::left() const {
  std::lock_guard lock(mutex_);
  return left_;
}

std::vector<Message> Rig::messages(GstMessageType type) {
  while (GstMessage *message = gst_bus_pop(bus_)) {
    messages_.push_back(to_message(message));
    gst_message_unref(message);
  }
  std::vector<Message> found;
  for (const auto &message : messages_)
    if (message.type == type)
      found.push_back(message);
  return found;
}

GstPadProbeReturn Rig::probe(GstPad *, GstPadProbeInfo *info, gpointer self) {
  auto *rig = static_cast<Rig *>(self);
  if ((GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) != 0)
    return rig->take_buffer(info);
  rig->take_event(GST_PAD_PROBE_INFO_EVENT(info));
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn Rig::take_buffer(GstPadProbeInfo *info) {
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  std::unique_lock lock(mutex_);
  ++blocked_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return gate_open_ || flushing_; });
  --blocked_;
  if (flushing_) {
    // As a sink does that waits with a buffer in hand.
    gst_buffer_unref(buffer);
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_FLUSHING;
    return GST_PAD_PROBE_HANDLED;
  }
  left_.push_back(item_of(buffer));
  changed_.notify_all();
  return GST_PAD_PROBE_OK;
}

void Rig::take_event(GstEvent *event) {
  std::lock_guard lock(mutex_);
  left_.push_back(item_of(event));
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    flushing_ = gate_open_ = true;
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    flushing_ = false;
  changed_.notify_all();
}

bool Rig::await(const std::string &item, size_t times) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] {
    return static_cast<size_t>(std::count(left_.begin(), left_.end(), item)) >= times;
  });
}

bool Rig::await_end() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] {
    const auto flush = std::find(left_.rbegin(), left_.rend(), "flush-stop");
    return std::find(left_.rbegin(), flush, "eos") != flush;
  });
}

void Rig::close_gate() {
  std::lock_guard lock(mutex_);
  gate_open_ = false;
}

void Rig::open_gate() {
  std::lock_guard lock(mutex_);
  gate_open_ = true;
  changed_.notify_all();
}

bool Rig::await_blocked() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return blocked_ > 0 && !gate_open_; });
}

void Rig::start(std::function<std::vector<std::string>()> work) {
  other_ended_ = false;
  other_id_ = 0;
  other_ = std::thread([this, work = std::move(work)] {
    other_id_ = gettid();
    other_results_ = work();
    other_ended_ = true;
  });
}

void Rig::await_asleep() const {
  const auto asleep = [this] {
    if (other_id_ == 0)
      return false;
    std::ifstream file("/proc/self/task/" + std::to_string(other_id_) + "/stat");
    std::string text;
    std::getline(file, text);
    const auto name_end = text.rfind(')');  // "4711 (name) S …"
    return name_end != std::string::npos && text.substr(name_end + 1, 2) == " S";
  };
  while (!other_ended_ && !asleep())
    std::this_thread::yield();
}

std::vector<std::string> Rig::join() {
  other_.join();
  return std::move(other_results_);
}

}  // namespace holoflow::test
