// SPDX-License-Identifier: LGPL-2.1-or-later
// GraphRunner: compiles a graph, runs it and stands at both rims.
//
//   push ──► IFrameInput … GraphSession … IFrameOutput ──► OutputQueue ──► pop
#include "holoflow/runtime/graph_runner.hh"

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/device/hand_over.hh"
#include "holoflow/device/slot_pool.hh"
#include "holoflow/runtime/graph_session.hh"

namespace holoflow::runtime {

namespace {

// Tensors that wait for pop; while as many do, the graph waits too.
constexpr size_t output_queue_length = 2;

/// Between an Output's section and the thread that pops.
class OutputQueue final : public IFrameSink {
public:
  ~OutputQueue() override {
    for (; count_ > 0; --count_)
      take_first().release();
  }

  core::OpResult on_frames(OutputFrames &&frames) override {
    std::unique_lock lock(mutex_);
    timed_.wait(room_, lock, [this] { return count_ < frames_.size() || interrupted_; });
    if (interrupted_) {
      lock.unlock();
      frames.release();
      return core::OpResult::Cancelled;
    }
    frames_[(first_ + count_) % frames_.size()] = std::move(frames);
    ++count_;
    lock.unlock();
    filled_.notify_one();
    return core::OpResult::Ok;
  }

  void on_end(bool eof) override {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
      eof_ = eof;
    }
    filled_.notify_all();
  }

  void interrupt() noexcept override {
    {
      std::lock_guard lock(mutex_);
      interrupted_ = true;
    }
    room_.notify_all();
  }

  std::chrono::nanoseconds take_waiting_time() override { return timed_.take(); }

  /// Nothing once the section has ended; `eof` then says whether everything came.
  std::optional<OutputFrames> pop(bool &eof) {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return count_ > 0 || ended_; });
    eof = eof_;
    if (count_ == 0)
      return std::nullopt;
    OutputFrames frames = take_first();
    --count_;
    lock.unlock();
    room_.notify_one();
    return frames;
  }

private:
  OutputFrames take_first() {
    return std::move(frames_[std::exchange(first_, (first_ + 1) % frames_.size())]);
  }

  TimedWait timed_;  // the section's
  std::mutex mutex_;  // guards everything below; never held while a release callback runs
  std::condition_variable room_;
  std::condition_variable filled_;
  std::array<OutputFrames, output_queue_length> frames_;  // a ring
  size_t first_ = 0;
  size_t count_ = 0;
  bool interrupted_ = false;
  bool ended_ = false;
  bool eof_ = false;
};

/// Calls a release callback once, unless it was handed on.
class ReleaseGuard {
public:
  explicit ReleaseGuard(std::function<void()> release) : release_(std::move(release)) {}
  ReleaseGuard(const ReleaseGuard &) = delete;
  ReleaseGuard &operator=(const ReleaseGuard &) = delete;
  ~ReleaseGuard() {
    if (release_)
      release_();
  }
  [[nodiscard]] std::function<void()> hand_on() { return std::exchange(release_, {}); }

private:
  std::function<void()> release_;
};

}  // namespace

OutputTensor::OutputTensor(
    std::shared_ptr<const core::TDesc> desc, const std::byte *data,
    std::span<const core::FrameRecord> records, std::function<void()> release)
    : desc_(std::move(desc)), data_(data), records_(records), release_(std::move(release)) {}

OutputTensor::OutputTensor(OutputTensor &&other) noexcept
    : desc_(std::move(other.desc_)), data_(std::exchange(other.data_, nullptr)),
      records_(other.records_), release_(std::exchange(other.release_, {})) {}

OutputTensor &OutputTensor::operator=(OutputTensor &&other) noexcept {
  std::swap(desc_, other.desc_);
  std::swap(data_, other.data_);
  std::swap(records_, other.records_);
  std::swap(release_, other.release_);
  return *this;
}

OutputTensor::~OutputTensor() {
  if (release_)
    release_();
}

class GraphRunner::Impl {
public:
  Impl(core::Registry *registry, Config config) : registry_(registry), config_(std::move(config)) {
    if (registry_ != nullptr)
      return;
    register_builtin_tasks(own_registry_);
    registry_ = &own_registry_;
  }

  [[nodiscard]] core::Registry &registry() { return *registry_; }

  void start(const core::GraphSpec &spec) {
    session_ = std::make_unique<GraphSession>(
        Compiler(*registry_, config_).compile(spec),
        GraphSession::Options{.trace_spans = config_.trace_spans});
    for (const auto &[name, output] : session_->outputs()) {
      auto &queue = outputs_[name];
      queue = std::make_unique<OutputQueue>();
      output->set_split(false);
      output->set_sink(queue.get());
    }
    for (const auto &[name, rim] : session_->inputs())
      inputs_[name].rim = rim;
    session_->start();
  }

  bool push(
      const std::string &name, const std::byte *data, const core::TDesc &desc,
      std::vector<core::FrameRecord> records, std::function<void()> release,
      std::optional<DeviceEvent> ready) {
    ReleaseGuard guard(std::move(release));
    const auto found = inputs_.find(name);
    InputRim &input = found != inputs_.end() ? found->second : no_such_input(name);
    InputFrames &frames = input.frames;
    frames.data = data;
    frames.desc = desc;
    frames.desc.offset = 0;  // `data` is the first element
    if (desc.mem_loc == core::MemLoc::Device) {
      bring_to_host(input, ready.value_or(nullptr));
    } else {
      if (ready.value_or(nullptr) != nullptr)
        device().synchronize(*ready);
      frames.release = guard.hand_on();
    }
    frames.records = std::move(records);
    switch (input.rim->push(std::move(frames))) {
    case IFrameInput::PushResult::Ok:
      return true;
    case IFrameInput::PushResult::Stopped:
      wait_and_rethrow();
      return false;
    case IFrameInput::PushResult::Closed:
      if (!is_active(session_->state()))
        wait_and_rethrow();
      return false;
    }
    return false;
  }

  std::optional<OutputTensor> pop(const std::string &name) {
    const auto found = outputs_.find(name);
    OutputQueue &queue = found != outputs_.end() ? *found->second : no_such_output(name);
    bool eof = false;
    if (auto frames = queue.pop(eof))
      return OutputTensor(
          std::move(frames->desc), frames->data, frames->records, std::move(frames->release));
    if (!eof)
      wait_and_rethrow();
    return std::nullopt;
  }

  [[nodiscard]] GraphSession &session() { return *session_; }

private:
  /// An Input and what its pushes use again, on the thread that pushes.
  struct InputRim {
    IFrameInput *rim = nullptr;
    InputFrames frames = {};
    // Where frames come in Device memory.
    std::shared_ptr<SlotPool> slots = {};
    size_t slot_bytes = 0;
    Stream stream = {};
  };

  [[noreturn]] InputRim &no_such_input(const std::string &name) const {
    (void)session_->input(name);
    throw std::logic_error("internal error: an input without its rim");
  }
  [[noreturn]] OutputQueue &no_such_output(const std::string &name) const {
    (void)session_->output(name);
    throw std::logic_error("internal error: an output without its queue");
  }

  void wait_and_rethrow() const {
    session_->wait();
    if (const auto error = session_->error(); error != nullptr)
      std::rethrow_exception(error);
  }

  [[nodiscard]] Device &device() const {
    const int index = session_->compiled().report.device_index;
    return index >= 0 ? cuda_device(index) : host_device();
  }

  // Frames enter a graph in Host memory: a Device tensor is copied with everything its view spans.
  void bring_to_host(InputRim &input, DeviceEvent ready) const {
    Device &from = device().is_gpu() ? device() : cuda_device();
    InputFrames &frames = input.frames;
    const size_t bytes = frames.desc.num_bytes();
    if (input.slots == nullptr || input.slot_bytes < bytes) {
      input.slots = std::make_shared<SlotPool>(from, bytes, 0);
      input.slot_bytes = bytes;
      if (input.stream.device() == nullptr)
        input.stream = Stream(from);
    }
    SlotPool::Slot *slot = input.slots->take();
    input.slots->lend(slot, 1);
    ReleaseGuard guard([slot] { SlotPool::end_use(slot); });
    if (ready != nullptr)
      from.wait(input.stream.get(), ready);
    copy_and_wait(
        from, slot->data(), core::MemLoc::Host, frames.data, core::MemLoc::Device, bytes,
        input.stream.get());
    frames.data = slot->data();
    frames.desc.mem_loc = core::MemLoc::Host;
    frames.release = guard.hand_on();
  }

  // In the order in which they depend on each other: the session goes first, the registry last.
  core::Registry own_registry_;
  core::Registry *registry_;
  const Config config_;
  std::map<std::string, std::unique_ptr<OutputQueue>> outputs_;
  std::map<std::string, InputRim> inputs_;
  std::unique_ptr<GraphSession> session_;
};

GraphRunner::GraphRunner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GraphRunner::GraphRunner(GraphRunner &&) noexcept = default;
GraphRunner &GraphRunner::operator=(GraphRunner &&) noexcept = default;
GraphRunner::~GraphRunner() = default;

GraphRunner GraphRunner::from_file(
    const std::filesystem::path &path, Config config, core::Registry *registry) {
  auto impl = std::make_unique<Impl>(registry, std::move(config));
  impl->start(core::GraphSpec::from_file(path));
  return GraphRunner(std::move(impl));
}

GraphRunner GraphRunner::from_json(std::string_view json, Config config, core::Registry *registry) {
  auto impl = std::make_unique<Impl>(registry, std::move(config));
  impl->start(core::GraphSpec::from_json(json));
  return GraphRunner(std::move(impl));
}

GraphRunner GraphRunner::from_chain(
    std::string_view chain, Config config, core::Registry *registry) {
  auto impl = std::make_unique<Impl>(registry, std::move(config));
  impl->start(core::GraphSpec::from_chain(chain, impl->registry().keys()));
  return GraphRunner(std::move(impl));
}

GraphRunner GraphRunner::from_spec(
    const core::GraphSpec &spec, Config config, core::Registry *registry) {
  auto impl = std::make_unique<Impl>(registry, std::move(config));
  impl->start(spec);
  return GraphRunner(std::move(impl));
}

bool GraphRunner::push(
    const std::string &input, const core::TView &frames, std::vector<core::FrameRecord> records,
    std::function<void()> release, std::optional<DeviceEvent> ready) {
  return impl_->push(
      input, frames.data(), frames.desc, std::move(records), std::move(release), ready);
}

bool GraphRunner::push(
    const std::string &input, const void *data, const core::TDesc &desc,
    std::vector<core::FrameRecord> records, std::function<void()> release,
    std::optional<DeviceEvent> ready) {
  const auto *bytes = static_cast<const std::byte *>(data);
  return impl_->push(
      input, bytes == nullptr ? nullptr : bytes + desc.offset, desc, std::move(records),
      std::move(release), ready);
}

std::optional<OutputTensor> GraphRunner::pop(const std::string &output) {
  return impl_->pop(output);
}

void GraphRunner::end() {
  impl_->session().end();
}
void GraphRunner::end(const std::string &input) {
  impl_->session().end(input);
}
void GraphRunner::stop() {
  impl_->session().stop();
}

const CompilerOutput &GraphRunner::compiled() const {
  return impl_->session().compiled();
}
Scheduler &GraphRunner::scheduler() {
  return impl_->session().scheduler();
}

}  // namespace holoflow::runtime
