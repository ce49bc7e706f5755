// SPDX-License-Identifier: LGPL-2.1-or-later
// From a graph specification to something the scheduler can run.
#pragma once

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

/// What a compiled graph takes, in bytes.
struct MemoryBill {
  size_t host_bytes = 0;  ///< blocks of the compiler in Host memory (page-locked on a GPU graph)
  size_t device_bytes = 0;  ///< blocks of the compiler in Device memory
  size_t task_host_bytes = 0;
  size_t task_device_bytes = 0;
  size_t saved_bytes = 0;  ///< by in-place aliases
};

/// What a compile did.
struct CompileReport {
  std::string device;  ///< "CPU" or the GPU's name
  int device_index = -1;
  size_t created_blocks = 0, reused_blocks = 0;
  size_t created_streams = 0, reused_streams = 0;
  size_t created_tasks = 0, updated_tasks = 0;
  std::vector<std::string>
      notes;  ///< decisions worth telling: owners that gave way, broken aliases
};

/// Owns what the scheduler refers to; must outlive it.
struct CompilerOutput {
  GraphPlan graph;
  std::vector<Section> sections;
  ExecResources resources;
  MemoryBill bill = {};
  CompileReport report = {};
};

/// Descriptors that inference found, and the faults that stopped it.
struct InferredGraph {
  GraphPlan graph;  ///< nodes behind a fault have empty inference results
  std::vector<core::Error> faults;  ///< empty when the graph compiles up to inference
};

/// How a graph is compiled.
struct CompilerConfig {
  enum class Device { Auto, Cpu, Cuda };
  enum class Replay { Off, Auto, Require };

  std::filesystem::path log_dir = {};  ///< nothing is written where this is empty
  bool dump_dot_on_failure = true;
  bool verbose_tracing = false;
  bool enable_profiling = false;
  std::string trace_filename = "trace_events.json";

  Device device = Device::Auto;
  int cuda_device = -1;  ///< ordinal, -1 = first
  std::map<std::string, core::TDesc> inputs = {};  ///< tensor of each Input node, by node name
  bool share_memory = true;
  size_t memory_budget = 0;
  Replay replay = Replay::Auto;
  int lag = 2;
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
  /// agree in location and size, streams in position, tasks in name, type and interface. Everything
  /// else of it is gone afterwards. A failure leaves `previous` untouched and usable.
  [[nodiscard]] std::unique_ptr<CompilerOutput> compile(
      const core::GraphSpec &spec, std::unique_ptr<CompilerOutput> &&previous = nullptr);

  /// What `prepare` made; opaque.
  class Prepared;
  /// The part of a compile that can fail: touches nothing of `previous`.
  [[nodiscard]] std::unique_ptr<Prepared> prepare(
      const core::GraphSpec &spec, const CompilerOutput *previous = nullptr);
  /// The rest: moves what is reused out of `previous` and updates tasks.
  [[nodiscard]] std::unique_ptr<CompilerOutput> commit(
      std::unique_ptr<Prepared> prepared, std::unique_ptr<CompilerOutput> &&previous = nullptr);

  /// Passes 1 to 4 alone, without any device (Upload then counts as an alias where the configured
  /// device is not Cuda). Never throws for a faulty graph.
  [[nodiscard]] InferredGraph infer(const core::GraphSpec &spec) const;

  [[nodiscard]] const Config &config() const noexcept;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holoflow::runtime
