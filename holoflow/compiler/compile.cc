// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver: the passes in order, the two halves of a compile, what happens when one fails.
#include <algorithm>

#include "holoflow/compiler/dump_dot.hh"
#include "holoflow/compiler/passes.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/core/logging.hh"
#include "holoflow/compiler/choose_device.hh"
#include "holoflow/runtime/graph_display.hh"

namespace holoflow::runtime {

using compiler::Plan;

namespace {

struct Pass {
  const char *name;
  void (*run)(Plan &);
  bool stop_on_fault;  ///< the passes behind this one need a plan without faults
};

/// Judge the graph without any device. 9 stands here because it can refuse.
constexpr Pass judging_passes[] = {
    {"validate", compiler::validate, false},
    {"build plan", compiler::build_plan, false},
    {"type inference", compiler::infer_types, true},
    {"assign tensors", compiler::assign_tensors, false},
    {"storage mapping", compiler::map_storage, false},
    {"ownership", compiler::check_ownership, false},
    {"section partitioning", compiler::partition_sections, true},
};

/// Lag, recordings and memory are no passes of their own for the trace: the bill is part of
/// allocating.
void plan_memory_and_allocate(Plan &plan) {
  compiler::plan_lag(plan);
  compiler::plan_recordings(plan);
  compiler::plan_memory(plan);
  if (plan.faults.empty())
    compiler::allocate(plan);
}

/// Make what the graph needs; touch nothing of a previous output.
constexpr Pass making_passes[] = {
    {"allocate", plan_memory_and_allocate, true},
    {"attach adapters", compiler::attach_adapters, true},
    {"assign streams", compiler::assign_streams, true},
    {"task instantiation", compiler::create_tasks, true},
};

/// What inference alone needs.
constexpr size_t inferring_passes = 4;

/// Whether a node of the graph insists on a real device.
bool needs_gpu(const core::GraphSpec &spec) {
  return std::any_of(spec.nodes.begin(), spec.nodes.end(), [](const core::NodeSpec &node) {
    if (node.kind != "Memcpy" || !node.settings.is_object())
      return false;
    const auto target = node.settings.find("target");
    return target != node.settings.end() && *target == "Device";
  });
}

/// Whether a GPU would be of use.
bool wants_gpu(const core::GraphSpec &spec) {
  return needs_gpu(spec) || std::any_of(spec.nodes.begin(), spec.nodes.end(), [](const auto &node) {
           return node.kind == "Upload";
         });
}

/// Decisions that a log should hold; the others only explain.
bool is_note(const Decision &decision) {
  using Kind = Decision::Kind;
  return decision.kind == Kind::Copy || decision.kind == Kind::Slots ||
      decision.kind == Kind::Device || decision.kind == Kind::Warning;
}

}  // namespace

/// A plan with everything it points to.
class Compiler::Prepared {
public:
  core::GraphSpec spec;  ///< expanded
  const Config config;  ///< a copy: the compiler may be gone before the commit
  Plan plan;

  Prepared(const core::GraphSpec &graph, core::Registry &registry, const Config &compiler_config)
      : config(compiler_config) {
    spec = core::expand_graph(graph, plan.faults);
    plan.spec = &spec;
    plan.registry = &registry;
    plan.config = &config;
  }

  ~Prepared() {
    // Work that a failed compile left on its own streams must not outlive their memory.
    if (plan.device == nullptr)
      return;
    for (const auto &[id, stream] : plan.streams) {
      if (stream.get() == nullptr)
        continue;
      try {
        plan.device->synchronize(stream.get());
      } catch (const std::exception &) {
        plan.device->clear_last_error();
      }
    }
  }

  void run(const Pass &pass) {
    const auto begin = std::chrono::steady_clock::now();
    pass.run(plan);
    plan.spans.push_back({pass.name, "compile", begin, std::chrono::steady_clock::now()});
  }

  void run_all(std::span<const Pass> list) {
    for (const auto &pass : list) {
      run(pass);
      if (pass.stop_on_fault && !plan.faults.empty())
        throw core::CompileError(plan.faults);
    }
  }
};

class Compiler::Impl {
public:
  Impl(core::Registry &registry, Config config)
      : registry_(registry), config_(std::move(config)), logger_(core::make_logger("compiler")) {}

  PreparedPtr prepare(
      const core::GraphSpec &spec, const CompilerOutput *previous, bool beside_previous) {
    PreparedPtr prepared(new Prepared(spec, registry_, config_));
    auto &plan = prepared->plan;
    plan.previous = previous;
    plan.beside_previous = beside_previous;
    try {
      const auto choice =
          choose_device(config_.device, config_.cuda_device, wants_gpu(prepared->spec));
      bind_device(plan, choice);
      const DeviceScope scope(*choice.device);
      prepared->run_all(judging_passes);
      plan.device = choice.device;
      compiler::find_updates(plan);
      prepared->run_all(making_passes);
      verify(plan, false);
    } catch (const std::exception &error) {
      report_failure(*prepared, error);
      throw;
    }
    return prepared;
  }

  std::unique_ptr<CompilerOutput> commit(
      PreparedPtr prepared, std::unique_ptr<CompilerOutput> &&previous) {
    auto &plan = prepared->plan;
    if (previous.get() != plan.previous)
      throw std::invalid_argument("commit needs the very output that prepare was shown");
    try {
      const DeviceScope scope(*plan.device);
      compiler::update_tasks(plan, previous);
      if (!plan.faults.empty())
        throw core::CompileError(plan.faults);
      bind(*prepared, previous);
      take_over(plan, std::move(previous));
      verify(plan, true);
    } catch (const std::exception &error) {
      report_failure(*prepared, error);
      throw;
    }
    return finish(*prepared);
  }

  std::unique_ptr<CompilerOutput> plan(const core::GraphSpec &spec) const {
    Prepared prepared(spec, registry_, config_);
    auto &plan = prepared.plan;
    const bool on_device = computes_on_device(prepared.spec);
    plan.compute_location = on_device ? core::MemLoc::Device : core::MemLoc::Host;
    plan.report.device = on_device ? "GPU" : "CPU";
    plan.report.device_index = on_device ? std::max(config_.cuda_device, 0) : -1;
    prepared.run_all(judging_passes);
    compiler::plan_lag(plan);
    compiler::plan_recordings(plan);
    compiler::plan_memory(plan);
    if (!plan.faults.empty())
      throw core::CompileError(plan.faults);
    verify(plan, false);
    for (auto &section : plan.sections)
      section.device = plan.report.device_index;
    return take_output(plan);
  }

  InferredGraph infer(const core::GraphSpec &spec) const {
    Prepared prepared(spec, registry_, config_);
    auto &plan = prepared.plan;
    plan.compute_location =
        computes_on_device(prepared.spec) ? core::MemLoc::Device : core::MemLoc::Host;
    for (size_t i = 0; i < inferring_passes; ++i) {
      judging_passes[i].run(plan);
      if (judging_passes[i].stop_on_fault && !plan.faults.empty())
        break;
    }
    return {std::move(plan.graph), std::move(plan.faults)};
  }

  [[nodiscard]] const Config &config() const noexcept { return config_; }

private:
  static void bind(Prepared &prepared, std::unique_ptr<CompilerOutput> &previous) {
    try {
      prepared.run({"bind tasks", compiler::bind_tasks, true});
    } catch (...) {
      compiler::undo_updates(prepared.plan, previous);
      throw;
    }
  }

  /// Where Upload brings tensors while no device has been opened.
  [[nodiscard]] bool computes_on_device(const core::GraphSpec &spec) const {
    return config_.device == Config::Device::Cuda ||
        (config_.device == Config::Device::Auto && needs_gpu(spec));
  }

  static void verify([[maybe_unused]] const Plan &plan, [[maybe_unused]] bool made) {
#ifndef NDEBUG
    compiler::verify(plan, made);
#endif
  }

  void bind_device(Plan &plan, const DeviceChoice &choice) {
    if (choice.device->is_gpu()) {
      register_cuda_tasks(registry_);
      plan.compute_location = core::MemLoc::Device;
    }
    plan.report.device = choice.device->name();
    plan.report.device_index = choice.device->index();
    if (!choice.note.empty())
      compiler::add_decision(plan, Decision::Kind::Device, -1, choice.note);
  }

  /// Moves what is reused out of the previous output, destroys the rest of it.
  static void take_over(Plan &plan, std::unique_ptr<CompilerOutput> &&previous) {
    const auto owned = std::move(previous);
    if (owned == nullptr)
      return;
    auto &old = owned->resources;
    for (const auto &[sid, old_sid] : plan.reuse.blocks)
      plan.blocks.emplace(sid, std::move(old.memory_blocks.at(old_sid)));
    for (const auto id : plan.reuse.streams)
      plan.streams.emplace(id, std::move(old.streams.at(id)));
    plan.kept_recordings = compiler::keep_recordings(plan, old);
    plan.previous = nullptr;
  }

  static std::unique_ptr<CompilerOutput> take_output(Plan &plan) {
    compiler::explain(plan);
    auto output = std::make_unique<CompilerOutput>();
    output->graph = std::move(plan.graph);
    output->sections = std::move(plan.sections);
    auto &resources = output->resources;
    resources.memory_blocks = std::move(plan.blocks);
    resources.streams = std::move(plan.streams);
    resources.storages = std::move(plan.storages);
    resources.tensor_descs = std::move(plan.tensor_descs);
    resources.tid_to_sid = std::move(plan.tid_to_sid);
    resources.node_storage_adapters = std::move(plan.adapters);
    resources.tasks = std::move(plan.tasks);
    resources.recordings = std::move(plan.kept_recordings);
    output->bill = std::move(plan.bill);
    output->report = std::move(plan.report);
    output->report.decisions = std::move(plan.decisions);
    for (const auto &decision : output->report.decisions)
      if (is_note(decision))
        output->report.notes.push_back(decision.text);
    output->inputs = plan.config->inputs;
    output->compute_location = plan.compute_location;
    output->recordings = std::move(plan.recordings);
    return output;
  }

  std::unique_ptr<CompilerOutput> finish(Prepared &prepared) {
    auto output = take_output(prepared.plan);
    if (config_.enable_profiling)
      output->report.spans = prepared.plan.spans;
    for (const auto &note : output->report.notes)
      logger_->info("{}", note);
    if (!config_.log_dir.empty()) {
      compiler::write_diagnostic(
          config_.log_dir, "compilation_success.dot", to_dot(*output, registry_));
      write_trace(prepared);
    }
    return output;
  }

  void report_failure(const Prepared &prepared, const std::exception &error) const {
    logger_->debug("{}", error.what());
    if (prepared.plan.device != nullptr)
      prepared.plan.device->clear_last_error();
    if (config_.log_dir.empty())
      return;
    if (config_.dump_dot_on_failure)
      compiler::write_diagnostic(
          config_.log_dir, "compilation_failure.dot", compiler::failure_dot(prepared.plan));
    write_trace(prepared);
  }

  void write_trace(const Prepared &prepared) const {
    if (!config_.enable_profiling || prepared.plan.spans.empty())
      return;
    compiler::write_diagnostic(
        config_.log_dir, config_.trace_filename, compiler::trace_of(prepared.plan.spans));
  }

  core::Registry &registry_;
  Config config_;
  std::shared_ptr<spdlog::logger> logger_;  // shared because spdlog hands loggers out this way
};

Compiler::Compiler(core::Registry &registry, Config config)
    : impl_(std::make_unique<Impl>(registry, std::move(config))) {}
Compiler::~Compiler() = default;
Compiler::Compiler(Compiler &&) noexcept = default;
Compiler &Compiler::operator=(Compiler &&) noexcept = default;

void Compiler::DeletePrepared::operator()(Prepared *prepared) const noexcept {
  delete prepared;
}

Compiler::PreparedPtr Compiler::prepare(
    const core::GraphSpec &spec, const CompilerOutput *previous) {
  return impl_->prepare(spec, previous, true);
}

std::unique_ptr<CompilerOutput> Compiler::commit(
    PreparedPtr prepared, std::unique_ptr<CompilerOutput> &&previous) {
  return impl_->commit(std::move(prepared), std::move(previous));
}

std::unique_ptr<CompilerOutput> Compiler::compile(
    const core::GraphSpec &spec, std::unique_ptr<CompilerOutput> &&previous) {
  auto prepared = impl_->prepare(spec, previous.get(), false);
  return impl_->commit(std::move(prepared), std::move(previous));
}

std::unique_ptr<CompilerOutput> Compiler::plan(const core::GraphSpec &spec) const {
  return impl_->plan(spec);
}

InferredGraph Compiler::infer(const core::GraphSpec &spec) const {
  return impl_->infer(spec);
}

const Compiler::Config &Compiler::config() const noexcept {
  return impl_->config();
}

}  // namespace holoflow::runtime
