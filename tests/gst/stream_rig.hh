// SPDX-License-Identifier: LGPL-2.1-or-later
// Elements that scripts run on, each with a record of what leaves it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gst_support.hh"

namespace holoflow::test {

/// The element that a script runs on.
struct Subject {
  std::string name;
  std::string graph = {};  ///< of holoflowbin; "": an element of GStreamer with this name
  std::string caps = {};  ///< of a capsfilter
  /// Frames that may stay inside after a start, a flush, an EOS or other caps: the history of a
  /// sliding window, of which the contract says only that frames no window has shown are given up.
  size_t warm_up = 0;

  [[nodiscard]] bool is_holoflow() const { return !graph.empty(); }
};
std::ostream &operator<<(std::ostream &stream, const Subject &subject);
std::string name_of(const ::testing::TestParamInfo<Subject> &info);

/// The yardstick of what serialized streams do.
const Subject &identity();
/// holoflowbin in one section, in two, with windows of four, with a sliding average of two.
std::vector<Subject> graphs();
/// `identity`, `queue` and graphs().
std::vector<Subject> all_subjects();
/// These and `queue`, where its threads can be judged.
std::vector<Subject> with_queue(std::vector<Subject> subjects);
/// Without `queue`, where it fails itself.
std::vector<Subject> identity_and_graphs();

/// One element with its source of steps and its record of what leaves.
class Rig {
public:
  explicit Rig(const Subject &subject);
  ~Rig();
  Rig(const Rig &) = delete;
  Rig &operator=(const Rig &) = delete;

  [[nodiscard]] GstHarness *harness() const { return harness_; }
  [[nodiscard]] GstElement *element() const { return harness_->element; }
  [[nodiscard]] std::vector<std::string> left() const;
  /// Of the element, so far.
  [[nodiscard]] std::vector<Message> messages(GstMessageType type);

  /// Bytes of a frame of the caps that were pushed last.
  size_t frame_bytes = 32;

  /// False if it does not leave within a time that is longer than any healthy element takes.
  bool await(const std::string &item, size_t times = 1);
  /// Until an EOS has left since the last FLUSH_STOP.
  bool await_end();
  /// Downstream does not take the next buffer, until the gate opens or a flush comes.
  void close_gate();
  void open_gate();
  bool await_blocked();

  /// Runs on another thread; its results come with join().
  void start(std::function<std::vector<std::string>()> work);
  /// Until the other thread sleeps in the element, or has ended.
  void await_asleep() const;
  std::vector<std::string> join();

private:
  static GstPadProbeReturn probe(GstPad *pad, GstPadProbeInfo *info, gpointer self);
  GstPadProbeReturn take_buffer(GstPadProbeInfo *info);
  void take_event(GstEvent *event);

  GstBus *bus_;
  std::vector<Message> messages_;
  GstHarness *harness_ = nullptr;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<std::string> left_;
  bool gate_open_ = true;
  bool flushing_ = false;
  size_t blocked_ = 0;  // buffers that wait at the gate

  std::thread other_;
  std::atomic<pid_t> other_id_ = 0;
  std::atomic<bool> other_ended_ = false;
  std::vector<std::string> other_results_;
};

}  // namespace holoflow::test
