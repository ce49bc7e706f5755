// SPDX-License-Identifier: LGPL-2.1-or-later
// The task model: what a task is, what its factory tells the compiler, what the scheduler calls.
//
// Life of a task: factory infer() (no device, any thread) → create() or update() (compiler thread)
// → bind_logger(), bind_storage_access() → for each run: begin_run() or continue_run(), then the
// running calls below (section threads) → destructor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holoflow/core/tensor.hh"
#include "holoflow_event/router.hh"

#if __has_include(<cuda_runtime.h>)
#include "curaii/cuda.hh"
#else
struct CUstream_st;
using cudaStream_t = CUstream_st *;
#endif

namespace spdlog {
class logger;
}

namespace holoflow::core {

/// Expected outcomes of an operation. Failures are exceptions.
enum class OpResult : uint8_t {
  Ok,
  NotReady,  ///< try again later; only for try_push and try_pop
  Cancelled,  ///< stopped because the run is being stopped
  Eof,  ///< no more data will come
};

/// One call of ISyncTask::execute. Everything is borrowed for the call.
struct SyncCtx {
  std::span<TView> inputs;
  std::span<TView> outputs;
  std::atomic<bool> *cancelled = nullptr;
  holoflow_event::EventWriter *event_writer = nullptr;
  holoflow_event::EventReader *event_reader = nullptr;
  /// One span per slot, one record per frame. Outputs that the task does not announce in
  /// InferResult::writes_records are filled by the scheduler; writing to them has no effect.
  std::span<std::span<FrameRecord>> input_records = {};
  std::span<std::span<FrameRecord>> output_records = {};
};

/// One call of IAsyncTask::try_push (producer's thread and stream).
struct AsyncPushCtx {
  std::span<TView> inputs;
  std::atomic<bool> *cancelled = nullptr;
  std::span<std::span<FrameRecord>> input_records = {};
};

/// One call of IAsyncTask::try_pop (consumer's thread and stream).
struct AsyncPopCtx {
  std::span<TView> outputs;
  std::atomic<bool> *cancelled = nullptr;
  std::span<std::span<FrameRecord>> output_records = {};
};

/// A node's access to the storages of its owned slots. Throws std::out_of_range for a slot that is
/// not owned or does not exist. The references stay valid for the whole compile.
class IOStorageAccess {
public:
  virtual ~IOStorageAccess() = default;
  [[nodiscard]] virtual Storage &owned_input_storage(size_t index) = 0;
  [[nodiscard]] virtual Storage &owned_output_storage(size_t index) = 0;
};

/// What synchronous and asynchronous tasks share.
class ITask {
public:
  virtual ~ITask() = default;

  /// Lends writable memory for an owned input: sets the slot's storage and returns a view on it, or
  /// nothing while there is none. The default throws std::out_of_range.
  [[nodiscard]] virtual std::optional<TView> acquire_input(int index);
  /// Takes back the memory of an owned output once everyone has read it. The default throws
  /// std::out_of_range.
  virtual void release_output(int index);

  void bind_logger(std::shared_ptr<spdlog::logger> logger) { logger_ = std::move(logger); }
  void bind_storage_access(IOStorageAccess *storage_access) { storage_access_ = storage_access; }

  /// Any thread: makes a call that waits inside the task return soon. `cancelled` is already set.
  virtual void interrupt() noexcept {}
  /// The memory that acquire_input lent will not be used in this run.
  virtual void abandon_input(int index) { (void)index; }
  /// A new run begins: the task forgets what the last one left in it (frames, counts, lent slots).
  /// Called by Scheduler::start() on its caller's thread, in plan order, before any section runs;
  /// an exception fails the start. A node that is kept while a running graph changes is not told.
  virtual void begin_run() {}
  /// The last run came to its end because its inputs had ended, and goes on: frames that were
  /// shown stay for those to come, only the end itself is forgotten. Called by Scheduler::resume()
  /// as begin_run() by start(). By default the task forgets everything.
  virtual void continue_run() { begin_run(); }

protected:
  /// The node's logger; not to be called before the compiler has bound it (not in constructors).
  [[nodiscard]] spdlog::logger *logger() { return logger_.get(); }
  /// Throws std::logic_error where the node owns no slot or nothing is bound yet.
  [[nodiscard]] IOStorageAccess &storage_access();

private:
  std::shared_ptr<spdlog::logger> logger_;  // shared with spdlog, which hands loggers out this way
  IOStorageAccess *storage_access_ = nullptr;
};

/// A task whose call turns inputs into outputs; on a GPU it may return once the work is enqueued.
class ISyncTask : public ITask {
public:
  /// Ok, Cancelled or Eof; NotReady is an error. Called by one section thread.
  [[nodiscard]] virtual OpResult execute(SyncCtx &ctx) = 0;
  /// Sources: true promises that execute() will not wait.
  [[nodiscard]] virtual bool ready() const noexcept { return false; }
};

/// A task that takes and gives independently: one producer thread, one consumer thread.
class IAsyncTask : public ITask {
public:
  [[nodiscard]] virtual OpResult try_push(AsyncPushCtx &ctx) = 0;
  [[nodiscard]] virtual OpResult try_pop(AsyncPopCtx &ctx) = 0;

  /// After the last push, on the producer's thread; try_pop then answers Eof once it is empty.
  virtual void end_of_input() {}
  /// Whether end_of_input() is understood; otherwise the scheduler counts frames to find the end.
  [[nodiscard]] virtual bool knows_end_of_input() const noexcept { return false; }
  /// When a NotReady pop may succeed for time alone; asked on the consumer's thread.
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point> ready_at() {
    return std::nullopt;
  }
};

/// An output that lives in an input's storage.
struct InPlace {
  int in_idx;
  int out_idx;
  bool required = true;  ///< false: the compiler may give the output its own storage instead
  bool writes = true;  ///< false: a view; the task never writes through it
};

enum class TaskKind { Sync, Async };

/// What a queue does to rates and depth, in frames.
struct Window {
  size_t frames_in = 1;  ///< frames per push
  size_t size = 1;  ///< frames per pop
  size_t stride = 1;  ///< frames by which a pop advances
  size_t capacity = 0;  ///< frames that fit, those of `delay` not counted; 0 if unknown
  bool drops = false;  ///< may drop frames when full
  /// Frames that have to come in before the first pop, beyond `size`: how far behind its input the
  /// task is. Where paths meet, the other path has to hold as many.
  size_t delay = 0;
  bool thins = false;  ///< drops for time, full or not: nobody knows at which rate frames leave
};

/// Memory that a task takes for itself.
struct MemoryNeed {
  MemLoc mem_loc = MemLoc::Host;
  size_t bytes = 0;
  std::string what;
};

/// A factory's whole contract with the compiler. Vectors that are empty count as all-false.
struct InferResult {
  std::vector<TDesc> input_descs;
  std::vector<TDesc> output_descs;
  std::vector<InPlace> in_place;
  std::vector<bool> owned_inputs;
  std::vector<bool> owned_outputs;
  TaskKind kind = TaskKind::Sync;
  /// Async: try_push synchronises its producer stream itself; otherwise the scheduler does before.
  bool synchronizes_producer_stream = false;
  /// push, pop, acquire and release order device work themselves: no barrier is made for the task.
  bool hands_over_by_event = false;
  /// Where two owners meet on one storage, this task copies instead.
  bool yields_ownership = false;
  /// execute() only enqueues, keeps no host state, depends on descriptors, settings, addresses.
  bool capturable = false;
  std::vector<bool> const_outputs = {};  ///< read again later: nobody may overwrite them
  std::vector<bool> optional_outputs = {};  ///< may stay unpopped
  std::vector<MemoryNeed> own_memory = {};  ///< slots and work areas, for the memory bill
  std::optional<Window> window = {};  ///< queues and windows
  std::vector<bool> writes_records = {};  ///< outputs whose records the task writes itself
};

/// What a synchronous task gets at creation. `device` is the GPU's index, -1 on the CPU.
struct SyncCreateCtx {
  cudaStream_t stream = nullptr;
  int device = -1;
  std::vector<bool> owned_inputs = {};  ///< who owns what after owners gave way
  std::vector<bool> owned_outputs = {};
  std::vector<size_t> owned_input_bytes = {};  ///< size that the slots of owned inputs need
};

/// What an asynchronous task gets at creation. A stream is null where the side has no section.
struct AsyncCreateCtx {
  cudaStream_t producer_stream = nullptr;
  cudaStream_t consumer_stream = nullptr;
  int device = -1;
  std::vector<bool> owned_inputs = {};
  std::vector<bool> owned_outputs = {};
  std::vector<size_t> owned_input_bytes = {};
  size_t min_slots = 0;  ///< depth that the graph needs where paths of different delay meet
};

/// Knows a task type before any task exists. Const calls may come from several threads.
class ITaskFactory {
public:
  virtual ~ITaskFactory() = default;
  /// Checks inputs and settings; throws std::invalid_argument with what was expected and got.
  [[nodiscard]] virtual InferResult infer(
      std::span<const TDesc> input_descs, const nlohmann::json &settings) const = 0;
};

class ISyncTaskFactory : public ITaskFactory {
public:
  [[nodiscard]] virtual std::unique_ptr<ISyncTask> create(
      std::span<const TDesc> input_descs, const nlohmann::json &settings,
      const SyncCreateCtx &ctx) const = 0;
  /// Turns the old task into one for the new inputs and settings; the default makes a new one and
  /// drops the old. Only the factory knows what may survive.
  [[nodiscard]] virtual std::unique_ptr<ISyncTask> update(
      std::unique_ptr<ISyncTask> old_task, std::span<const TDesc> input_descs,
      const nlohmann::json &settings, const SyncCreateCtx &ctx) const;
};

class IAsyncTaskFactory : public ITaskFactory {
public:
  [[nodiscard]] virtual std::unique_ptr<IAsyncTask> create(
      std::span<const TDesc> input_descs, const nlohmann::json &settings,
      const AsyncCreateCtx &ctx) const = 0;
  [[nodiscard]] virtual std::unique_ptr<IAsyncTask> update(
      std::unique_ptr<IAsyncTask> old_task, std::span<const TDesc> input_descs,
      const nlohmann::json &settings, const AsyncCreateCtx &ctx) const;
};

}  // namespace holoflow::core
