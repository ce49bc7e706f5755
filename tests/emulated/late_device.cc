// SPDX-License-Identifier: LGPL-2.1-or-later
// The emulated GPU: memory, and streams that run when somebody waits.
#include "tests/emulated/late_device.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "holoflow/core/error.hh"

namespace holoflow::emulated {

namespace {

constexpr size_t alignment = 256;
constexpr int fresh_byte = 0xA5;
constexpr int freed_byte = 0xDB;

// AddressSanitizer names who wrote where and when, provided that freed memory really is.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool keeps_freed_memory = false;
#else
constexpr bool keeps_freed_memory = true;
#endif

// Not an address: nobody may look behind it.
template <typename Handle> Handle handle_of(uint64_t number) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(number * 16));
}

}  // namespace

void LateDevice::count_call(const char *name) {
  ++counts_.calls;
  if (faults_.lost)
    throw core::DeviceError(
        "emulated GPU: lost since call " + std::to_string(faults_.call) + ": " + name);
  if (faults_.calls_left == 0 || --faults_.calls_left != 0)
    return;
  faults_.lost = faults_.lose_device;
  throw core::DeviceError(
      "emulated GPU: call " + std::to_string(faults_.call) + " failed: " + name);
}

void LateDevice::count_recording_call(const char *name) {
  count_call(name);
  if (faults_.recording_calls_left > 0 && --faults_.recording_calls_left == 0)
    throw core::DeviceError(
        "emulated GPU: recording call " + std::to_string(faults_.recording_call) +
        " failed: " + name);
}

LateDevice::StreamQueue &LateDevice::queue_of(cudaStream_t stream) {
  if (stream == nullptr)
    return own_;
  const auto found = streams_.find(stream);
  if (found == streams_.end())
    throw core::DeviceError("emulated GPU: a stream that does not exist or no longer");
  return found->second;
}

std::shared_ptr<LateDevice::Mark> &LateDevice::mark_of(runtime::DeviceEvent event) {
  const auto found = events_.find(event);
  if (found == events_.end())
    throw core::DeviceError("emulated GPU: an event that does not exist or no longer");
  return found->second;
}

void LateDevice::enqueue(StreamQueue &queue, std::variant<Work, Reach, Await> operation) {
  queue.operations.push_back(std::move(operation));
  while (queue.operations.size() > longest_queue)
    run_oldest(queue);
  if (&queue == &own_)
    run_all(queue);
}

// Streams never wait for each other in a circle: a wait awaits what was recorded before it.
void LateDevice::run_oldest(StreamQueue &queue) {
  auto operation = std::move(queue.operations.front());
  queue.operations.pop_front();
  if (const auto *awaits = std::get_if<Await>(&operation))
    return run_up_to(*awaits->mark);
  if (const auto *reaches = std::get_if<Reach>(&operation)) {
    reaches->mark->reached = true;
    reaches->mark->when = std::chrono::steady_clock::now();
    return;
  }
  try {
    std::get<Work>(operation)();
  } catch (...) {
    if (failure_ == nullptr)
      failure_ = std::current_exception();
  }
}

void LateDevice::run_all(StreamQueue &queue) {
  while (!queue.operations.empty())
    run_oldest(queue);
}

void LateDevice::run_up_to(Mark &mark) {
  // The stream of a mark that a lost device never reached may be gone.
  while (!mark.reached && !faults_.lost)
    run_oldest(*mark.queue);
}

// One operation, be it one that the stream waits for.
void LateDevice::advance(StreamQueue &queue) {
  if (queue.operations.empty())
    return;
  const auto *awaits = std::get_if<Await>(&queue.operations.front());
  if (awaits != nullptr && !awaits->mark->reached)
    advance(*awaits->mark->queue);
  else
    run_oldest(queue);
}

void LateDevice::throw_failure() {
  if (failure_ == nullptr)
    return;
  try {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  } catch (const std::exception &error) {
    throw core::DeviceError(std::string("emulated GPU: work failed: ") + error.what());
  }
}

size_t LateDevice::count_pending() const {
  size_t count = 0;
  for (const auto &[stream, queue] : streams_)
    count += queue.operations.size();
  return count;
}

void LateDevice::empty_graves() {
  if (graves_.empty() || count_pending() > 0)
    return;
  for (const Grave &grave : graves_) {
    const auto untouched = [](std::byte byte) { return byte == std::byte{freed_byte}; };
    if (!std::all_of(grave.ptr, grave.ptr + grave.bytes, untouched))
      ++written_after_free_;
    std::free(grave.ptr);
  }
  graves_.clear();
}

void LateDevice::launch(cudaStream_t stream, Work work) {
  launch(
      stream,
      LateWork{{}, [work = std::move(work)](std::span<std::byte *const>) { work(); }, true});
}

void LateDevice::launch(cudaStream_t stream, LateWork work) {
  const std::lock_guard lock(mutex_);
  count_call("launch");
  enqueue(queue_of(stream), std::move(work));
}

void LateDevice::enqueue(StreamQueue &queue, LateWork work) {
  if (queue.recording != nullptr)
    queue.recording->work.push_back(std::move(work));
  else
    enqueue(queue, Work([work = std::move(work)] { work.run(work.addresses); }));
}

void LateDevice::refuse_while_recording(StreamQueue &queue) {
  if (queue.recording == nullptr)
    return;
  queue.recording->is_spoilt = true;
  throw core::DeviceError("emulated GPU: an event or a wait on a stream that records");
}

void LateDevice::begin_recording(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  count_recording_call("begin_recording");
  auto &queue = queue_of(stream);
  refuse_while_recording(queue);
  queue.recording = std::make_unique<Recording>();
  ++counts_.recordings;
}

std::unique_ptr<runtime::RecordedWork> LateDevice::end_recording(
    cudaStream_t stream, std::vector<runtime::RecordedMemory> memory) {
  std::unique_ptr<Recording> recording;
  {
    const std::lock_guard lock(mutex_);
    recording = std::move(queue_of(stream).recording);
    count_recording_call("end_recording");
  }
  if (recording == nullptr || recording->is_spoilt)
    throw core::DeviceError("emulated GPU: end_recording: nothing was recorded, or it was spoilt");
  return std::make_unique<LateRecording>(*this, std::move(recording->work), std::move(memory));
}

void LateDevice::abandon_recording(cudaStream_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto found = streams_.find(stream); found != streams_.end())
    found->second.recording.reset();
}

void LateDevice::count(const char *recording_call) {
  const std::lock_guard lock(mutex_);
  count_recording_call(recording_call);
}

void LateDevice::count_recording(int difference) {
  live_recordings_ += difference;
}

bool LateDevice::refuses_to_follow() const {
  const std::lock_guard lock(mutex_);
  return faults_.refuse_to_follow;
}

void LateDevice::launch_recorded(cudaStream_t stream, const std::vector<LateWork> &work) {
  const std::lock_guard lock(mutex_);
  count_recording_call("launch_recorded");
  auto &queue = queue_of(stream);
  refuse_while_recording(queue);
  ++counts_.recorded_launches;
  for (const auto &operation : work)
    enqueue(queue, operation);
}

std::byte *LateDevice::allocate(core::MemLoc, size_t bytes) {
  const std::lock_guard lock(mutex_);
  count_call("allocate");
  void *ptr = nullptr;
  if (bytes <= memory_bytes - bytes_in_use_)
    ptr = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  if (ptr == nullptr)
    throw core::DeviceError("emulated GPU: no memory for " + std::to_string(bytes) + " bytes");
  std::memset(ptr, fresh_byte, bytes);
  auto *block = static_cast<std::byte *>(ptr);
  memory_.emplace(block, bytes);
  bytes_in_use_ += bytes;
  ++counts_.allocations;
  return block;
}

void LateDevice::free(core::MemLoc, std::byte *ptr) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = memory_.find(ptr);
  // Null is fine; a block that is not there was freed twice, which free() reports best.
  if (found == memory_.end())
    return std::free(ptr);
  const size_t bytes = found->second;
  memory_.erase(found);
  bytes_in_use_ -= bytes;
  std::memset(ptr, freed_byte, bytes);
  // Where waits are lost on purpose, late writes are no surprise.
  if (!keeps_freed_memory && !faults_.lose_waits && !faults_.lose_records &&
      !faults_.skip_host_waits)
    return std::free(ptr);
  graves_.push_back({ptr, bytes});
  empty_graves();
}

cudaStream_t LateDevice::create_stream() {
  const std::lock_guard lock(mutex_);
  count_call("create_stream");
  const auto stream = handle_of<cudaStream_t>(++last_handle_);
  streams_[stream];
  return stream;
}

// As CUDA does it: what is pending will still run.
void LateDevice::destroy_stream(cudaStream_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end())
    return;
  if (!faults_.lost)
    run_all(found->second);
  streams_.erase(found);
  empty_graves();
}

void LateDevice::synchronize(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  count_call("synchronize(stream)");
  ++counts_.streams;
  refuse_while_recording(queue_of(stream));
  run_all(queue_of(stream));
  empty_graves();
  throw_failure();
}

runtime::DeviceEvent LateDevice::create_event() {
  const std::lock_guard lock(mutex_);
  count_call("create_event");
  const auto event = handle_of<runtime::DeviceEvent>(++last_handle_);
  events_[event];
  return event;
}

void LateDevice::destroy_event(runtime::DeviceEvent event) noexcept {
  const std::lock_guard lock(mutex_);
  events_.erase(event);
  timed_events_.erase(event);
}

runtime::DeviceEvent LateDevice::create_timed_event() {
  const auto event = create_event();
  const std::lock_guard lock(mutex_);
  timed_events_.insert(event);
  ++counts_.timed_events;
  return event;
}

// CUDA refuses the same.
const LateDevice::Mark &LateDevice::reached_mark_of(runtime::DeviceEvent event) {
  const auto &mark = mark_of(event);
  if (!timed_events_.contains(event))
    throw core::DeviceError("emulated GPU: an event that takes no time");
  if (mark == nullptr || !mark->reached)
    throw core::DeviceError("emulated GPU: an event that has not happened");
  return *mark;
}

double LateDevice::milliseconds_between(runtime::DeviceEvent begin, runtime::DeviceEvent end) {
  const std::lock_guard lock(mutex_);
  count_call("milliseconds_between");
  const auto time = reached_mark_of(end).when - reached_mark_of(begin).when;
  return std::chrono::duration<double, std::milli>(time).count();
}

void LateDevice::begin_range(const char *name) noexcept {
  const std::lock_guard lock(mutex_);
  ++counts_.ranges[name];
  ++counts_.open_ranges;
}

void LateDevice::end_range() noexcept {
  const std::lock_guard lock(mutex_);
  --counts_.open_ranges;
}

void LateDevice::record(runtime::DeviceEvent event, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  count_call("record");
  StreamQueue &queue = queue_of(stream);
  refuse_while_recording(queue);
  std::shared_ptr<Mark> &current = mark_of(event);
  if (faults_.lose_records)
    return;
  current = std::make_shared<Mark>(Mark{&queue});
  enqueue(queue, Reach{current});
}

void LateDevice::wait(cudaStream_t stream, runtime::DeviceEvent event) {
  const std::lock_guard lock(mutex_);
  count_call("wait");
  StreamQueue &queue = queue_of(stream);
  refuse_while_recording(queue);
  const std::shared_ptr<Mark> &mark = mark_of(event);
  if (mark != nullptr && !faults_.lose_waits)
    enqueue(queue, Await{mark});
}

void LateDevice::synchronize(runtime::DeviceEvent event) {
  const std::lock_guard lock(mutex_);
  count_call("synchronize(event)");
  ++counts_.events;
  const std::shared_ptr<Mark> mark = mark_of(event);
  if (mark == nullptr || faults_.skip_host_waits)
    return;
  run_up_to(*mark);
  empty_graves();
  throw_failure();
}

bool LateDevice::query(runtime::DeviceEvent event) {
  const std::lock_guard lock(mutex_);
  count_call("query");
  const std::shared_ptr<Mark> mark = mark_of(event);
  if (mark == nullptr || mark->reached)
    return true;
  advance(*mark->queue);
  empty_graves();
  throw_failure();
  return false;
}

void LateDevice::copy(
    std::byte *to, core::MemLoc, const std::byte *from, core::MemLoc, size_t bytes,
    cudaStream_t stream) {
  if (bytes == 0)
    return;
  const std::lock_guard lock(mutex_);
  count_call("copy");
  enqueue(
      queue_of(stream),
      LateWork{{to, const_cast<std::byte *>(from)}, [bytes](std::span<std::byte *const> addresses) {
                 std::memmove(addresses[0], addresses[1], bytes);
               }});
}

void LateDevice::lose_waits(bool on) {
  const std::lock_guard lock(mutex_);
  faults_.lose_waits = on;
}

void LateDevice::lose_records(bool on) {
  const std::lock_guard lock(mutex_);
  faults_.lose_records = on;
}

void LateDevice::skip_host_waits(bool on) {
  const std::lock_guard lock(mutex_);
  faults_.skip_host_waits = on;
}

void LateDevice::refuse_to_follow(bool on) {
  const std::lock_guard lock(mutex_);
  faults_.refuse_to_follow = on;
}

void LateDevice::fail_call(uint64_t call) {
  const std::lock_guard lock(mutex_);
  faults_.lose_device = faults_.lost = false;
  faults_.call = faults_.calls_left = call;
}

void LateDevice::fail_recording_call(uint64_t call) {
  const std::lock_guard lock(mutex_);
  faults_.recording_call = faults_.recording_calls_left = call;
}

void LateDevice::lose_device(uint64_t call) {
  const std::lock_guard lock(mutex_);
  faults_.lose_device = true;
  faults_.lost = false;
  faults_.call = faults_.calls_left = call;
}

void LateDevice::reset() {
  const std::lock_guard lock(mutex_);
  faults_ = {};
  counts_ = {};
}

uint64_t LateDevice::calls() const {
  const std::lock_guard lock(mutex_);
  return counts_.calls;
}

uint64_t LateDevice::stream_synchronisations() const {
  const std::lock_guard lock(mutex_);
  return counts_.streams;
}

uint64_t LateDevice::event_synchronisations() const {
  const std::lock_guard lock(mutex_);
  return counts_.events;
}

uint64_t LateDevice::allocations() const {
  const std::lock_guard lock(mutex_);
  return counts_.allocations;
}

uint64_t LateDevice::timed_events() const {
  const std::lock_guard lock(mutex_);
  return counts_.timed_events;
}

uint64_t LateDevice::recordings() const {
  const std::lock_guard lock(mutex_);
  return counts_.recordings;
}

uint64_t LateDevice::recorded_launches() const {
  const std::lock_guard lock(mutex_);
  return counts_.recorded_launches;
}

int64_t LateDevice::live_recordings() const {
  return live_recordings_;
}

std::map<std::string, uint64_t> LateDevice::ranges() const {
  const std::lock_guard lock(mutex_);
  return counts_.ranges;
}

int64_t LateDevice::open_ranges() const {
  const std::lock_guard lock(mutex_);
  return counts_.open_ranges;
}

size_t LateDevice::live_allocations() const {
  const std::lock_guard lock(mutex_);
  return memory_.size();
}

size_t LateDevice::live_events() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

size_t LateDevice::live_streams() const {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

size_t LateDevice::pending() const {
  const std::lock_guard lock(mutex_);
  return count_pending();
}

uint64_t LateDevice::written_after_free() {
  const std::lock_guard lock(mutex_);
  empty_graves();
  return written_after_free_;
}

LateDevice &late_device() {
  static auto *const device = new LateDevice;
  return *device;
}

}  // namespace holoflow::emulated
