// SPDX-License-Identifier: LGPL-2.1-or-later
// Scripts: the same steps on one sink pad and one source pad of several elements.
#include "stream_script.hh"

#include <algorithm>
#include <set>

#include "../support/watchdog.hh"

namespace holoflow::test {

namespace {

std::string text_of(bool result) {
  return result ? "true" : "false";
}

std::string text_of(GstFlowReturn flow) {
  return gst_flow_get_name(flow);
}

bool is_buffer(const std::string &item) {
  return item.starts_with("buffer ");
}

// Behind these a sliding window may begin anew.
bool may_end_history(const std::string &item) {
  return item == "eos" || item.starts_with("stream-start ") || item == "flush-stop" ||
      item.starts_with("caps ");
}

std::set<std::string> of_warm_up(const Subject &subject, const std::vector<std::string> &left) {
  std::set<std::string> items;
  size_t since = 0;
  for (const auto &item : left) {
    if (may_end_history(item))
      since = 0;
    if (is_buffer(item) && since++ < subject.warm_up)
      items.insert(item);
  }
  return items;
}

// Nothing reaches downstream before what describes it.
void expect_order(const std::vector<std::string> &left) {
  bool started = false, has_caps = false, has_segment = false;
  for (const auto &item : left) {
    if (item.starts_with("stream-start "))
      started = true;
    else if (item.starts_with("caps "))
      has_caps = true;
    else if (item.starts_with("segment "))
      has_segment = true;
    else if (item == "flush-stop")
      has_segment = false;
    else if (is_buffer(item) && !(started && has_caps && has_segment))
      ADD_FAILURE() << item << " comes before its events: " << ::testing::PrintToString(left);
  }
}

std::vector<std::string> without_repeated_caps(const std::vector<std::string> &left) {
  std::vector<std::string> kept;
  std::string now;
  for (const auto &item : left) {
    const bool is_caps = item.starts_with("caps ");
    if (is_caps && item == now)
      continue;
    if (is_caps)
      now = item;
    kept.push_back(item);
  }
  return kept;
}

std::vector<std::string> of_part(const std::vector<std::string> &left, Part part) {
  if (part == Part::Whole)
    return without_repeated_caps(left);
  auto rest = after_the_last_flush(left);
  std::erase_if(rest, [](const std::string &item) {
    return item.starts_with("stream-start ") || item.starts_with("caps ") || item == "tag";
  });
  return rest;
}

std::vector<std::string> without(
    std::vector<std::string> left, const std::set<std::string> &items) {
  std::erase_if(left, [&](const std::string &item) { return items.contains(item); });
  return left;
}

GstFlowReturn push_frame(Rig &rig, guint64 ms) {
  GstBuffer *buffer = buffer_of(noise(rig.frame_bytes, static_cast<guint32>(ms)));
  GST_BUFFER_PTS(buffer) = ms * GST_MSECOND;
  GST_BUFFER_DURATION(buffer) = 10 * GST_MSECOND;
  return gst_harness_push(rig.harness(), buffer);
}

std::vector<std::string> run_steps(Rig &rig, const Script &script) {
  std::vector<std::string> returned;
  for (const auto &step : script)
    if (auto result = step(rig); !result.empty())
      returned.push_back(std::move(result));
  return returned;
}

}  // namespace

Step event(std::function<GstEvent *()> make) {
  return [make = std::move(make)](Rig &rig) {
    GstEvent *made = make();
    const std::string name = GST_EVENT_TYPE_NAME(made);
    return name + ": " + text_of(gst_harness_push_event(rig.harness(), made) != FALSE);
  };
}

Step stream_start(const std::string &id) {
  return event([id] { return gst_event_new_stream_start(id.c_str()); });
}

Step caps(const std::string &text) {
  return [text](Rig &rig) {
    GstCaps *caps = gst_caps_from_string(text.c_str());
    GstVideoInfo info;
    if (gst_video_info_from_caps(&info, caps))
      rig.frame_bytes = info.size;
    const bool taken = gst_harness_push_event(rig.harness(), gst_event_new_caps(caps)) != FALSE;
    gst_caps_unref(caps);
    return "caps: " + text_of(taken);
  };
}

Step segment(guint64 start_ms) {
  return event([start_ms] {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = segment.time = start_ms * GST_MSECOND;
    return gst_event_new_segment(&segment);
  });
}

Step begin(const std::string &id, const std::string &text) {
  return [steps = Script{stream_start(id), caps(text), segment()}](Rig &rig) {
    std::string all;
    for (const auto &step : steps)
      all += step(rig) + " ";
    return all;
  };
}

Step frames(guint64 first_ms, guint64 count) {
  return [first_ms, count](Rig &rig) {
    std::string all;
    for (guint64 i = 0; i < count; ++i)
      all += text_of(push_frame(rig, first_ms + 10 * i)) + " ";
    return all;
  };
}

Step frames_until_refused(guint64 first_ms) {
  return [first_ms](Rig &rig) {
    GstFlowReturn flow = GST_FLOW_OK;
    for (guint64 ms = first_ms; flow == GST_FLOW_OK; ms += 10)
      flow = push_frame(rig, ms);
    return "refused: " + text_of(flow);
  };
}

Step gap(guint64 ms) {
  return event([ms] { return gst_event_new_gap(ms * GST_MSECOND, 10 * GST_MSECOND); });
}

Step tag() {
  return event(
      [] { return gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "a title", nullptr)); });
}

Step custom(const std::string &name) {
  return event([name] {
    return gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty(name.c_str()));
  });
}

Step segment_done() {
  return event([] { return gst_event_new_segment_done(GST_FORMAT_TIME, 0); });
}

Step eos() {
  return event([] { return gst_event_new_eos(); });
}

Step flush_start() {
  return event([] { return gst_event_new_flush_start(); });
}

Step flush_stop() {
  return event([] { return gst_event_new_flush_stop(TRUE); });
}

Step set_active(const char *name, bool active) {
  return [name = std::string(name), active](Rig &rig) {
    GstPad *pad = gst_element_get_static_pad(rig.element(), name.c_str());
    const bool done = gst_pad_set_active(pad, active) != FALSE;
    gst_object_unref(pad);
    return name + (active ? " active: " : " inactive: ") + text_of(done);
  };
}

Step await(const std::string &item, size_t times) {
  return [item, times](Rig &rig) { return rig.await(item, times) ? "" : "never left: " + item; };
}

Step await_end() {
  return [](Rig &rig) { return rig.await_end() ? "" : "no EOS left"; };
}

Step close_gate() {
  return [](Rig &rig) {
    rig.close_gate();
    return "";
  };
}

Step await_blocked() {
  return [](Rig &rig) { return rig.await_blocked() ? "" : "no buffer came to the closed gate"; };
}

Step beside(Script script) {
  return [script = std::move(script)](Rig &rig) {
    rig.start([&rig, script] { return run_steps(rig, script); });
    return "";
  };
}

Step await_asleep() {
  return [](Rig &rig) {
    rig.await_asleep();
    return "";
  };
}

Step join() {
  return [](Rig &rig) {
    std::string all = "beside:";
    for (const auto &result : rig.join())
      all += " " + result;
    return all;
  };
}

Account play(const Subject &subject, const Script &script) {
  const Watchdog watchdog(subject.name + ": the script does not end");
  Rig rig(subject);
  Account account;
  account.returned = run_steps(rig, script);
  account.left = rig.left();
  return account;
}

std::vector<std::string> after_the_last_flush(const std::vector<std::string> &left) {
  const auto stop = std::find(left.rbegin(), left.rend(), "flush-stop");
  return {stop.base(), left.end()};
}

std::vector<std::string> buffers_with_caps(const std::vector<std::string> &left) {
  std::vector<std::string> buffers;
  std::string now = "none";
  for (const auto &item : left) {
    if (item.starts_with("caps "))
      now = item.substr(5);
    if (is_buffer(item))
      buffers.push_back(item.substr(7) + " in " + now);
  }
  return buffers;
}

void expect_like(
    const Subject &yardstick, const Subject &subject, const Script &script, Part part) {
  const Account expected = play(yardstick, script);
  const Account got = play(subject, script);
  EXPECT_EQ(got.returned, expected.returned);
  expect_order(got.left);
  const auto reference = of_part(expected.left, part);
  const auto may_stay = of_warm_up(subject, reference);
  EXPECT_EQ(without(of_part(got.left, part), may_stay), without(reference, may_stay));
}

void expect_like_identity(const Subject &subject, const Script &script, Part part) {
  expect_like(identity(), subject, script, part);
}

}  // namespace holoflow::test
