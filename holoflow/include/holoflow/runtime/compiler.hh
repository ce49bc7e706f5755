// SPDX-License-Identifier: LGPL-2.1-or-later
// From a graph specification to something the scheduler can run.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/registry.hh"
#include "holoflow/runtime/graph_exec.hh"

namespace holoflow::runtime {

/// Bytes by kind of memory.
struct MemoryAmount {
  size_t device = 0;  ///< on the GPU
  size_t pinned = 0;  ///< Host, page-locked: all Host memory of a graph on a GPU
  size_t host = 0;  ///< Host, ordinary: all memory of a graph on the CPU

  [[nodiscard]] size_t total() const noexcept;
  /// Sums that do not fit stay at the largest number.
  MemoryAmount &operator+=(const MemoryAmount &other) noexcept;
};

/// What a compiled graph takes: known before anything is allocated.
struct MemoryBill {
  struct SectionItem {
    int section = 0;
    MemoryAmount blocks = {};  ///< of tensors written in the section
    MemoryAmount tasks = {};  ///< of its synchronous nodes; asynchronous ones belong to no section
  };
  struct TensorItem {
    int tid = 0;
    int sid = 0;
    int block = -1;  ///< storage id under which its memory block is kept, -1 where a task owns it
    std::string node;  ///< who writes it
    int slot = 0;
    int section = -1;  ///< -1 for outputs of asynchronous nodes
    core::MemLoc mem_loc = core::MemLoc::Host;
    size_t bytes = 0;  ///< extent of the view, offset included
  };
  struct TaskItem {
    std::string node;
    int section = -1;
    core::MemoryNeed need;
  };

  MemoryAmount blocks = {};  ///< of the compiler
  MemoryAmount tasks = {};  ///< that tasks say they take: queue slots, work areas
  size_t saved_by_aliasing = 0;  ///< bytes of outputs that live in their input's storage
  size_t saved_by_sharing = 0;  ///< bytes of storages that live in an earlier one's block
  std::vector<SectionItem> sections = {};
  std::vector<TensorItem> tensors = {};
  std::vector<TaskItem> task_items = {};

  [[nodiscard]] MemoryAmount total() const noexcept {
    auto sum = blocks;
    return sum += tasks;
  }
};

/// The bill as a table for people.
[[nodiscard]] std::string to_text(const MemoryBill &bill);

/// Why something in the compiled graph is as it is.
struct Decision {
  enum class Kind {
    Section,  ///< why a boundary is where it is
    Alias,  ///< an output lives in its input's storage
    Copy,  ///< data is copied that might have been shared, and why
    Owner,  ///< a task's own memory is the tensor's memory
    Sharing,  ///< tensors take turns in one block
    Slots,  ///< a queue got more room than it asked for
    Order,  ///< a node waits for readers of what it overwrites
    Device,  ///< where the graph runs
    Replay,  ///< what is recorded and launched as one, and why the rest is not
    Warning,  ///< could not be checked, or will surprise
  };
  Kind kind = Kind::Warning;
  std::string node;  ///< "" where it concerns the whole graph
  std::string text;  ///< one sentence
};

[[nodiscard]] const char *to_string(Decision::Kind kind);

/// One pass of a compile, or one call of a factory.
struct CompileSpan {
  std::string name;
  std::string category;  ///< "compile" or "factory"
  std::chrono::steady_clock::time_point begin, end;
};

/// What a compile did.
struct CompileReport {
  std::string device;  ///< "CPU" or the GPU's name
  int device_index = -1;
  size_t created_blocks = 0, reused_blocks = 0;
  size_t created_streams = 0, reused_streams = 0;
  size_t created_tasks = 0, updated_tasks = 0;
  std::vector<std::string>
      notes;  ///< decisions worth telling: owners that gave way, broken aliases, warnings
  std::vector<Decision> decisions = {};  ///< all of them, in the order of the passes
  std::vector<CompileSpan> spans = {};  ///< where Config::enable_profiling asks for them
  size_t kept_tasks = 0;  ///< that go on as they are, as nothing about them changed
};

/// One piece of work that is recorded, wherever it occurs in the graph: nodes, edges, params, input
/// descriptors and which slots share memory.
struct RecordingDefinition {
  std::string key;  ///< hexadecimal, the same for the same work
  size_t tasks = 0;
  size_t occurrences = 0;  ///< each with memory and executables of its own
};

/// Owns what the scheduler refers to; must outlive it.
struct CompilerOutput {
  GraphPlan graph;
  std::vector<Section> sections;
  ExecResources resources;
  MemoryBill bill = {};
  CompileReport report = {};
  std::map<std::string, core::TDesc> inputs = {};  ///< the Config's, that it was compiled for
  core::MemLoc compute_location = core::MemLoc::Host;  ///< where Upload brings tensors
  std::vector<RecordingDefinition> recordings = {};
};

/// Descriptors that inference found, and the faults that stopped it.
struct InferredGraph {
  GraphPlan graph;  ///< nodes behind a fault have empty inference results
  core::FaultList faults;  ///< empty when the graph compiles up to inference
};

/// How a graph is compiled.
struct CompilerConfig {
  enum class Device { Auto, Cpu, Cuda };
  /// Whether device tasks that follow each other are recorded and launched as one. Auto: where it
  /// can be done; the environment variable HOLOFLOW_REPLAY (off, auto, require) overrides it.
  /// Require: compilation fails, with the reasons, where a device task would be launched by itself
  /// though it has a neighbour.
  enum class Replay { Off, Auto, Require };

  std::filesystem::path log_dir = {};  ///< nothing is written where this is empty
  bool dump_dot_on_failure = true;
  bool verbose_tracing = false;
  bool enable_profiling = false;
  std::string trace_filename = "trace_events.json";

  Device device = Device::Auto;
  int cuda_device = -1;  ///< ordinal, -1 = first
  std::map<std::string, core::TDesc> inputs = {};  ///< tensor of each Input node, by node name
  bool share_memory = true;  ///< tensors of a section whose lives do not overlap may share blocks
  /// Bytes that the graph may take where it computes (Device memory on a GPU, Host memory on the
  /// CPU), 0 = no limit. More makes compilation fail with the bill.
  size_t memory_budget = 0;
  Replay replay = Replay::Auto;
  /// Iterations that a section on a GPU may enqueue before the first of them has been read by the
  /// host tasks at its end; each takes memory of its own. From 0 to 16.
  int lag = 2;
  /// For the search of errors: false makes every section wait for its stream in each iteration.
  bool overlap = true;
  /// Spans of each section that a GraphRunner keeps of its run, the newest, for Scheduler::trace();
  /// 0 keeps none.
  size_t trace_spans = 0;
  /// Different pieces of work that are recorded at most; what comes after stays eager.
  size_t max_recordings = 16;
};

/// Compiles graphs for the tasks of one registry.
///
/// Threads: one compile at a time per compiler; infer is const and safe from any thread.
/// Errors: core::CompileError with every fault found, core::DeviceError for a missing device.
class Compiler {
public:
  using Config = CompilerConfig;

  explicit Compiler(core::Registry &registry, Config config = {});
  ~Compiler();
  Compiler(Compiler &&) noexcept;
  Compiler &operator=(Compiler &&) noexcept;

  /// Compiles `spec`; resources of `previous` (whose scheduler has ended) are reused where blocks
  /// agree in location and size, streams in position, tasks in name, type and interface: those of
  /// foreign factories are updated; those of this library go on where they keep nothing from run to
  /// run and neither settings nor descriptors changed, with their recordings, and are made anew
  /// otherwise. Everything else of it is gone afterwards. A failure leaves `previous` usable, but
  /// for the one case that commit() names.
  [[nodiscard]] std::unique_ptr<CompilerOutput> compile(
      const core::GraphSpec &spec, std::unique_ptr<CompilerOutput> &&previous = nullptr);

  /// What `prepare` made; opaque. It refers to the registry, not to the compiler.
  class Prepared;
  struct DeletePrepared {
    void operator()(Prepared *prepared) const noexcept;
  };
  using PreparedPtr = std::unique_ptr<Prepared, DeletePrepared>;
  /// The part of a compile that can fail: checks, new memory, new streams, new tasks. Touches
  /// nothing of `previous`, whose scheduler may run meanwhile; a section with a new task therefore
  /// gets a new stream (compile() reuses streams by position).
  [[nodiscard]] PreparedPtr prepare(
      const core::GraphSpec &spec, const CompilerOutput *previous = nullptr);
  /// The rest: moves what is reused out of `previous`, whose scheduler has ended, and updates
  /// tasks. Where an update throws, tasks that were already updated are updated back, the failing
  /// node's task is made anew from its old description, and `previous` stays usable; where that
  /// fails too, `previous` is destroyed and the error says so.
  [[nodiscard]] std::unique_ptr<CompilerOutput> commit(
      PreparedPtr prepared, std::unique_ptr<CompilerOutput> &&previous = nullptr);

  /// Everything that is decided without a device (passes 1 to 6 and 9, and the memory plan): opens
  /// no device, loads no CUDA, allocates no tensor. `resources` holds descriptors and storage ids
  /// only. Device::Cuda plans for a GPU whether there is one or not, Auto for the CPU unless a node
  /// insists on a device. Throws CompileError with every fault.
  [[nodiscard]] std::unique_ptr<CompilerOutput> plan(const core::GraphSpec &spec) const;

  /// Passes 1 to 4 alone, without any device (Upload then counts as an alias where the configured
  /// device is not Cuda). Never throws for a faulty graph.
  [[nodiscard]] InferredGraph infer(const core::GraphSpec &spec) const;

  [[nodiscard]] const Config &config() const noexcept;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holoflow::runtime
