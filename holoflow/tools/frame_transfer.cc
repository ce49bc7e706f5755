// SPDX-License-Identifier: LGPL-2.1-or-later
//   reader thread: file ──► push ──► graph ──► pop ──► file :writer thread
#include "holoflow/tools/frame_transfer.hh"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "holoflow/runtime/graph_runner.hh"
#include "holoflow/runtime/rim.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tools/first_error.hh"

namespace holoflow::tools {

namespace {

using Clock = std::chrono::steady_clock;

/// Redraws one line on a terminal, ten times a second at most. Any thread.
class Progress {
public:
  explicit Progress(std::optional<size_t> total)
      : total_(total), visible_(::isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() {
    if (drawn_)
      std::fputs("\r\x1b[K", stderr);
  }

  void add(size_t frames) {
    if (!visible_)
      return;
    const std::lock_guard lock(mutex_);
    frames_ += frames;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(100))
      return;
    last_ = now;
    drawn_ = true;
    draw();
  }

private:
  void draw() const {
    constexpr size_t width = 40;
    if (total_.value_or(0) == 0) {
      std::fprintf(stderr, "\r%zu frames", frames_);
      return;
    }
    const size_t filled = std::min(width, width * frames_ / *total_);
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    std::fprintf(stderr, "\r[%s] %zu of %zu frames", bar.c_str(), frames_, *total_);
  }

  const std::optional<size_t> total_;
  const bool visible_;
  std::mutex mutex_;  // guards the rest
  size_t frames_ = 0;
  bool drawn_ = false;
  Clock::time_point last_ = {};
};

std::optional<size_t> total_of(const std::map<std::string, std::unique_ptr<FrameReader>> &readers) {
  return readers.size() == 1 ? readers.begin()->second->total() : std::nullopt;
}

class Transfer {
public:
  Transfer(
      runtime::GraphRunner &runner,
      const std::map<std::string, std::unique_ptr<FrameReader>> &readers,
      const std::map<std::string, std::unique_ptr<FrameWriter>> &writers)
      : runner_(runner), progress_(total_of(readers)) {
    for (const auto &[output, writer] : writers)
      frames_of_output_[output] = 0;
  }

  void feed(const std::string &input, FrameReader &reader) {
    guard([&] {
      const MediaFrame &frame = reader.frame();
      runtime::IFrameInput &rim = rim_of(input);
      const core::TDesc &tensor = runner_tensor(input);
      const bool as_it_stands = is_tensor_as_it_stands(frame, tensor);
      std::unique_ptr<std::byte[]> raw;
      if (!as_it_stands)
        raw.reset(new std::byte[frame.bytes]);  // not zeroed: it is overwritten
      size_t pushed = 0;
      for (;;) {
        // Shared with the release callback, which has to be copyable.
        const std::shared_ptr<std::byte[]> data(new std::byte[tensor.num_bytes()]);
        if (!reader.read(as_it_stands ? data.get() : raw.get()))
          break;
        if (!as_it_stands)
          convert_frame(frame, raw.get(), tensor, data.get());
        if (!runner_.push(input, data.get(), tensor, {}, [data] {})) {
          count_unused(input, reader, pushed);
          break;
        }
        frames_in_ += 1;
        ++pushed;
      }
      report(unread_, reader.left_unread());
      report(remarks_, reader.remark());
      // This Input alone: others may have more frames.
      rim.end();
    });
  }

  void drain(const std::string &output, FrameWriter &writer) {
    guard([&] {
      while (const auto tensor = runner_.pop(output))
        write(output, writer, *tensor);
    });
  }

  /// Keeps what the body throws, unless an error came before it.
  template <typename Body> void guard(Body &&body) {
    try {
      body();
    } catch (...) {
      fail(std::current_exception());
    }
  }
  /// What the threads left, once they have ended.
  void conclude(TransferResult &result) {
    result.error = error_.get();
    if (result.error == nullptr)  // after an error everything under way is dropped
      report_dropped();
    for (const auto &[input, frames] : unused_)
      unread_.push_back(
          (frames ? count_frames(*frames) : std::string("the rest")) + " of the file of input \"" +
          input + "\" not used: the nodes after it ended, because another input has fewer frames");
    result.unread = std::move(unread_);
    result.losses = std::move(remarks_);
    result.frames_in = frames_in_;
    for (const auto &[output, frames] : frames_of_output_)
      result.frames_out += frames;
    result.frames_of_output = std::move(frames_of_output_);
  }

  std::map<std::string, core::TDesc> tensors;  ///< one push of each Input

private:
  void report(std::vector<std::string> &sentences, std::string sentence) {
    if (sentence.empty())
      return;
    const std::lock_guard lock(mutex_);
    sentences.push_back(std::move(sentence));
  }

  /// The nodes after the input have ended, because another path to them has.
  void count_unused(const std::string &input, const FrameReader &reader, size_t pushed) {
    const auto total = reader.total();
    const std::lock_guard lock(mutex_);
    unused_[input] = total ? std::optional(std::max(*total, pushed) - pushed) : std::nullopt;
  }

  /// Sentences for the nodes that dropped frames. What the end of another input left in an Input
  /// is as unused as what was not pushed: how far each got is chance, their sum is not.
  void report_dropped() {
    for (const auto &[node, ledger] : runner_.scheduler().ledger())
      for (const auto &[reason, count] : ledger.dropped) {
        const bool by_another_end = reason == "consumer-ended" || reason == "stopped";
        // With several files it is one that ended before the others.
        const bool by_another_input = by_another_end && tensors.size() > 1;
        if (by_another_input && tensors.contains(node)) {
          auto &unused = unused_.try_emplace(node, 0).first->second;
          if (unused)
            *unused += count;
        } else {
          (by_another_input ? unread_ : remarks_).push_back(sentence_of(node, reason, count));
        }
      }
  }
  static std::string sentence_of(
      const std::string &node, const std::string &reason, uint64_t count) {
    const auto text = count_frames(count) + " dropped by queues: ";
    if (reason == "flush")
      return text + "the last window of node \"" + node + "\" was not complete";
    if (reason == "consumer-ended")
      return text + "node \"" + node +
          "\" still had them when another path to the nodes after it ended";
    if (reason == "stopped")
      return text + "the nodes after \"" + node + "\" ended before all of their inputs came";
    return text + "node \"" + node + "\", " + reason;
  }

  void fail(std::exception_ptr error) {
    if (error_.keep(std::move(error)))
      runner_.stop();
  }

  runtime::IFrameInput &rim_of(const std::string &input) {
    return dynamic_cast<runtime::IFrameInput &>(*runner_.compiled().resources.tasks.at(input));
  }
  [[nodiscard]] const core::TDesc &runner_tensor(const std::string &input) const {
    return tensors.at(input);
  }

  /// Frames that repeat the last one to fill a batch stay out of the file.
  void write(const std::string &output, FrameWriter &writer, const runtime::OutputTensor &tensor) {
    const size_t frames = tasks::frame_count(tensor.desc());
    const auto records = tensor.records();
    const auto is_padding = [&](size_t frame) {
      return records.size() == frames && (records[frame].flags & core::FrameRecord::Padding) != 0;
    };
    for (size_t first = 0; first < frames;) {
      size_t last = first;
      while (last < frames && !is_padding(last))
        ++last;
      if (last > first)
        writer.write(tensor.data(), first, last);
      frames_of_output_.at(output) += last - first;
      progress_.add(last - first);
      first = last + 1;
    }
  }

  runtime::GraphRunner &runner_;
  FirstError error_;
  std::mutex mutex_;  // guards unread_, remarks_ and unused_
  std::vector<std::string> unread_, remarks_;
  std::map<std::string, std::optional<size_t>> unused_;  ///< frames of each Input, where counted
  std::atomic<size_t> frames_in_ = 0;
  std::map<std::string, size_t> frames_of_output_;  // a thread changes its own number only
  Progress progress_;
};

}  // namespace

TransferResult transfer_frames(
    const core::GraphSpec &graph, runtime::CompilerConfig config, RunRecord &record,
    const std::map<std::string, std::unique_ptr<FrameReader>> &readers,
    const std::map<std::string, std::unique_ptr<FrameWriter>> &writers) {
  record.prepare(config);
  auto runner = runtime::GraphRunner::from_spec(graph, config);
  record.begin(runner.scheduler());
  TransferResult result;
  result.device = runner.compiled().report.device;
  {
    Transfer transfer(runner, readers, writers);
    transfer.tensors = config.inputs;
    std::vector<std::thread> threads;
    for (const auto &[output, writer] : writers)
      threads.emplace_back([&, name = output, to = writer.get()] { transfer.drain(name, *to); });
    for (const auto &[input, reader] : readers)
      threads.emplace_back([&, name = input, from = reader.get()] { transfer.feed(name, *from); });
    for (std::thread &thread : threads)
      thread.join();
    transfer.guard([&] { runner.scheduler().wait(); });
    transfer.guard([&] { record.finish(); });
    transfer.conclude(result);
  }
  return result;
}

}  // namespace holoflow::tools
