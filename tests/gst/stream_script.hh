// SPDX-License-Identifier: LGPL-2.1-or-later
// Scripts: the same steps on one sink pad and one source pad of several elements.
//
//   Script ── play() ──► [sink pad] identity, queue or holoflowbin [source pad] ──► Account
//
// GStreamer's rules leave room. What `identity` and `queue` do with a script is the yardstick for
// holoflowbin in their place.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stream_rig.hh"

namespace holoflow::test {

/// What a script brought. Items of `left`, in order: "stream-start a", "caps 8x4 30/1", "segment
/// 0", "buffer 40", "buffer 40 discont", "gap 40", "tag", "eos", "flush-start", names of custom
/// events.
struct Account {
  std::vector<std::string> left;
  std::vector<std::string> returned;  ///< of each step that returns something
};

/// Returns what the call gave: "ok", "flushing", "true", …; "" if it gives nothing.
using Step = std::function<std::string(Rig &)>;
using Script = std::vector<Step>;

constexpr char small_caps[] = "video/x-raw,format=GRAY8,width=8,height=4,framerate=30/1";
constexpr char faster_caps[] = "video/x-raw,format=GRAY8,width=8,height=4,framerate=60/1";
constexpr char larger_caps[] = "video/x-raw,format=GRAY8,width=16,height=8,framerate=30/1";

Step stream_start(const std::string &id = "a");
Step caps(const std::string &text = small_caps);
Step segment(guint64 start_ms = 0);
/// stream_start, caps and segment.
Step begin(const std::string &id = "a", const std::string &text = small_caps);
/// One after the other, 10 ms each. Four, because windows of four shall lose none.
Step frames(guint64 first_ms, guint64 count = 4);
/// Frames from `first_ms` on, until one is refused.
Step frames_until_refused(guint64 first_ms);
Step event(std::function<GstEvent *()> make);
Step gap(guint64 ms);
Step tag();
Step custom(const std::string &name);
Step segment_done();
Step eos();
Step flush_start();
Step flush_stop();
Step set_active(const char *pad, bool active);
/// `item` has left at least `times` times.
Step await(const std::string &item, size_t times = 1);
/// An EOS has left since the last FLUSH_STOP.
Step await_end();
Step close_gate();
Step await_blocked();
/// These steps on another thread.
Step beside(Script script);
Step await_asleep();
Step join();

Account play(const Subject &subject, const Script &script);

/// Everything, or what left after the last FLUSH_STOP but for sticky events that outlive a flush:
/// what it overtakes depends on threads.
enum class Part { Whole, AfterTheLastFlush };

/// The script gives on `subject` what it gives on `yardstick`. The same caps again, which queue
/// sends on and identity does not, count as none.
void expect_like(
    const Subject &yardstick, const Subject &subject, const Script &script,
    Part part = Part::Whole);
void expect_like_identity(const Subject &subject, const Script &script, Part part = Part::Whole);

/// Each buffer with the caps that were in force, like "40 in 8x4 30/1".
std::vector<std::string> buffers_with_caps(const std::vector<std::string> &left);
std::vector<std::string> after_the_last_flush(const std::vector<std::string> &left);

}  // namespace holoflow::test
