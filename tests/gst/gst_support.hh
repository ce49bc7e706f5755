// SPDX-License-Identifier: LGPL-2.1-or-later
// Pipelines, harnesses and messages for tests of the element.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holoflow::test {

/// What a pipeline said on its bus.
struct Message {
  GstMessageType type;
  std::string source;  ///< name of the element
  GQuark domain = 0;
  int code = 0;
  std::string text;
  std::string detail;
};

/// A pipeline from a description as gst-launch takes it. Ends in NULL.
class Pipeline {
public:
  explicit Pipeline(const std::string &description);
  ~Pipeline();

  /// PLAYING until EOS or the first error. False where neither came in time.
  bool run();
  GstStateChangeReturn set_state(GstState state);
  /// SUCCESS, ASYNC where the state was not reached in time, …
  GstStateChangeReturn wait_for_state();
  /// Messages so far; waits until one of these types came, or the time is over.
  bool wait_for(GstMessageType types);

  [[nodiscard]] const std::vector<Message> &messages() const { return messages_; }
  [[nodiscard]] std::vector<Message> messages_of(GstMessageType type) const;
  [[nodiscard]] std::vector<Message> errors() const { return messages_of(GST_MESSAGE_ERROR); }
  [[nodiscard]] bool saw_eos() const { return !messages_of(GST_MESSAGE_EOS).empty(); }
  /// Not owned, valid as long as the pipeline.
  [[nodiscard]] GstElement *element(const char *name) const;
  [[nodiscard]] GstElement *get() const { return pipeline_; }

private:
  void keep(GstMessage *message);

  GstElement *pipeline_ = nullptr;
  std::vector<Message> messages_;
};

/// Counts the buffers that a pad of the element lets pass.
class BufferCounter {
public:
  BufferCounter(GstElement *element, const char *pad);
  ~BufferCounter();
  [[nodiscard]] guint64 count() const;

private:
  static GstPadProbeReturn probe(GstPad *, GstPadProbeInfo *, gpointer self);
  GstPad *pad_;
  gulong id_;
  mutable std::mutex mutex_;
  guint64 count_ = 0;
};

/// `Input -> Output` with this "as" ("" for none).
[[nodiscard]] std::string passthrough(const std::string &as = "GRAY");
/// `Input -> BatchQueue -> Output`: two sections.
[[nodiscard]] std::string queued(const std::string &as = "GRAY", const std::string &params = "");

/// A harness around `holoflowbin graph=…`.
class Harness {
public:
  /// `trace`: its trace-location, "" for none.
  explicit Harness(const std::string &graph, const std::string &trace = "");
  ~Harness();
  GstHarness *operator->() const { return harness_; }
  [[nodiscard]] GstHarness *get() const { return harness_; }
  [[nodiscard]] guint64 stat(const char *field) const;
  /// All of them; to be freed.
  [[nodiscard]] GstStructure *stats() const;
  /// Messages of the element so far.
  [[nodiscard]] std::vector<Message> messages(GstMessageType type) const;

private:
  GstHarness *harness_;
  GstBus *bus_;
};

/// A buffer of these bytes.
[[nodiscard]] GstBuffer *buffer_of(const std::vector<guint8> &bytes);
[[nodiscard]] std::vector<guint8> bytes_of(GstBuffer *buffer);
/// The pixels of plane 0 without padding between rows.
[[nodiscard]] std::vector<guint8> plane_of(GstBuffer *buffer, GstCaps *caps);

/// Bytes that differ from each other: the same for the same seed.
[[nodiscard]] std::vector<guint8> noise(size_t count, guint32 seed = 1);

[[nodiscard]] Message to_message(GstMessage *message);

}  // namespace holoflow::test
