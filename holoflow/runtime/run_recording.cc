// SPDX-License-Identifier: LGPL-2.1-or-later
// Recording, replaying and falling back.
#include "holoflow/runtime/run_recording.hh"

#include <spdlog/logger.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "holoflow/core/logging.hh"
#include "holoflow/device/hand_over.hh"

namespace holoflow::runtime {

using core::OpResult;

namespace {

constexpr uint64_t skip_factor = 16;
constexpr uint64_t max_skip = uint64_t{1} << 20;

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const auto &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

RunRecording::RunRecording(
    const Section &section, const RecordedRun &run, Device &device, Memory memory,
    std::shared_ptr<RunExecutables> executables, const RunningPlace &place)
    : section_(section.name), stream_(section.stream), key_(run.key), nodes_(executables->nodes),
      label_(run.label), node_names_(joined(nodes_)), device_(device),
      moving_(std::move(memory.moving)), place_(place), addresses_(moving_.size()),
      recorded_(std::move(executables)), executables_(recorded_->list) {
  std::vector<std::byte *> fixed;
  for (const auto *storage : memory.fixed)
    fixed.push_back(storage->ptr);
  if (recorded_->stream != stream_ || recorded_->fixed != fixed)
    executables_.clear();
  recorded_->stream = stream_;
  recorded_->fixed = std::move(fixed);
  executables_.reserve(max_executables);
  for (const auto &work : executables_) {
    operations_ = work->operations();
    prepared_operations_ += work->operations();
  }
}

void RunRecording::begin_run() {
  skip_ = 0;
  next_skip_ = 1;
}

void RunRecording::read_addresses() {
  for (size_t i = 0; i < moving_.size(); ++i)
    addresses_[i] = moving_[i]->ptr;
}

bool RunRecording::replay() {
  for (size_t i = 0; i < executables_.size(); ++i) {
    if (!executables_[i]->can_follow(addresses_))
      continue;
    try {
      launch(i);
      ++hits_;
      return true;
    } catch (const std::exception &error) {
      note_failure(error.what());
      return false;
    }
  }
  return false;
}

// Where it throws, the executable is gone: it may be half changed.
void RunRecording::launch(size_t index) {
  auto &work = *executables_[index];
  try {
    work.launch(stream_, addresses_);
  } catch (...) {
    finish_quietly(device_, stream_);
    prepared_operations_ -= work.operations();
    executables_.erase(executables_.begin() + static_cast<std::ptrdiff_t>(index));
    throw;
  }
  ++launches_;
}

bool RunRecording::may_record() {
  if (skip_ > 0) {
    --skip_;
    return false;
  }
  return true;
}

// Nothing where the tasks have to be called one by one.
std::optional<OpResult> RunRecording::record(const Tasks &record_tasks) {
  refused_ = OpResult::Ok;
  try {
    auto work = capture(record_tasks);
    if (work == nullptr)
      return refused_;
    if (!teach(*work))
      add(std::move(work), record_tasks);
    if (refused_ != OpResult::Ok)
      return refused_;
    return OpResult::Ok;
  } catch (const std::exception &error) {
    note_failure(error.what());
  }
  return std::nullopt;
}

// Null where a task wants to end the iteration; refused_ says how.
std::unique_ptr<RecordedWork> RunRecording::capture(const Tasks &record_tasks) {
  device_.begin_recording(stream_);
  try {
    refused_ = record_tasks();
  } catch (const std::exception &error) {
    device_.abandon_recording(stream_);
    throw std::runtime_error(place_.node_text() + " cannot be recorded: " + error.what());
  }
  if (refused_ != OpResult::Ok) {
    device_.abandon_recording(stream_);
    return nullptr;
  }
  std::vector<RecordedMemory> memory;
  for (const auto *storage : moving_)
    memory.push_back({storage->ptr, storage->bytes});
  return device_.end_recording(stream_, std::move(memory));
}

// Shows the work to the recordings that there are; launches one that can follow its memory now.
bool RunRecording::teach(const RecordedWork &work) {
  for (size_t i = 0; i < executables_.size(); ++i)
    if (executables_[i]->learn(work).empty() && executables_[i]->can_follow(addresses_)) {
      ++re_records_;
      launch(i);
      return true;
    }
  return false;
}

void RunRecording::add(std::unique_ptr<RecordedWork> work, const Tasks &record_tasks) {
  if (executables_.size() == max_executables)
    throw std::runtime_error(
        "its memory comes in more than " + std::to_string(max_executables) +
        " combinations of addresses, which one recording cannot follow: " +
        executables_.front()->learn(*work));
  const auto again = capture(record_tasks);
  if (again == nullptr)
    return;
  if (const auto why = work->forget_noise(*again); !why.empty())
    throw std::runtime_error("recorded twice it is not the same work: " + why);
  work->prepare();
  operations_ = work->operations();
  prepared_operations_ += work->operations();
  executables_.push_back(std::move(work));
  ++records_;
  launch(executables_.size() - 1);
}

void RunRecording::note_failure(const std::string &reason) {
  skip_ = next_skip_;
  next_skip_ = std::min(next_skip_ * skip_factor, max_skip);
  device_.clear_last_error();
  reason_ = reason;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = fallbacks_.emplace(reason, 0).second;
  }
  if (is_new)
    core::make_logger("replay")->warn(
        "{}: {} are launched one by one: {}", section_, label_, reason);
}

void RunRecording::count_fallback(const std::string &reason) {
  const std::lock_guard lock(mutex_);
  ++fallbacks_[reason];
}

ReplayStats RunRecording::stats() const {
  ReplayStats stats;
  stats.section = section_;
  stats.nodes = nodes_;
  stats.key = key_;
  stats.hits = hits_;
  stats.misses = misses_;
  stats.records = records_;
  stats.re_records = re_records_;
  stats.operations = operations_;
  stats.bytes = prepared_operations_ * recorded_bytes_per_operation;
  if (const auto samples = device_samples_.load(); samples > 0)
    stats.average_device_duration_ms =
        1e-6 * static_cast<double>(device_ns_) / static_cast<double>(samples);
  const std::lock_guard lock(mutex_);
  stats.fallbacks = fallbacks_;
  return stats;
}

}  // namespace holoflow::runtime
