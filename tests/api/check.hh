// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a graph that counts to 5 through the given nodes and compares what comes out.
#pragma once

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/registry.hh"
#include "holoflow/runtime/compiler.hh"

namespace api_test {

namespace core = holoflow::core;
namespace runtime = holoflow::runtime;

class Numbers final : public core::ISyncTask {
public:
  core::OpResult execute(core::SyncCtx &ctx) override {
    if (next_ == 5)
      return core::OpResult::Eof;
    auto *to = reinterpret_cast<float *>(ctx.outputs[0].data());
    for (int i = 0; i < 4; ++i)
      to[i] = static_cast<float>(next_ + i);
    ++next_;
    return core::OpResult::Ok;
  }

private:
  int next_ = 0;
};

class NumbersFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(std::span<const core::TDesc>, const nlohmann::json &) const override {
    return core::InferResult{
        .input_descs = {},
        .output_descs = {core::TDesc({4}, core::DType::F32, core::MemLoc::Host)},
        .in_place = {},
        .owned_inputs = {},
        .owned_outputs = {false},
        .kind = core::TaskKind::Sync,
    };
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc>, const nlohmann::json &,
      const core::SyncCreateCtx &) const override {
    return std::make_unique<Numbers>();
  }
};

/// Compares each value with `expected(n)` of the number that went in.
class Judge final : public core::ISyncTask {
public:
  explicit Judge(double (*expected)(double)) : expected_(expected) {}
  core::OpResult execute(core::SyncCtx &ctx) override {
    const auto *from = reinterpret_cast<const float *>(ctx.inputs[0].data());
    for (int i = 0; i < 4; ++i)
      if (std::fabs(from[i] - expected_(seen + i)) > 1e-6)
        throw std::runtime_error("frame " + std::to_string(seen) + " is wrong");
    ++seen;
    return core::OpResult::Ok;
  }
  int seen = 0;

private:
  double (*expected_)(double);
};

class JudgeFactory final : public core::ISyncTaskFactory {
public:
  explicit JudgeFactory(double (*expected)(double)) : expected_(expected) {}
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &) const override {
    return core::InferResult{
        .input_descs = {inputs.begin(), inputs.end()},
        .output_descs = {},
        .in_place = {},
        .owned_inputs = {false},
        .owned_outputs = {},
        .kind = core::TaskKind::Sync,
    };
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc>, const nlohmann::json &,
      const core::SyncCreateCtx &) const override {
    return std::make_unique<Judge>(expected_);
  }

private:
  double (*expected_)(double);
};

/// numbers → nodes… → judge. Returns an exit status: 0 right, 1 wrong.
inline int check(
    core::Registry &registry, const std::vector<core::NodeSpec> &nodes, double (*expected)(double),
    runtime::CompilerConfig config = {}) {
  static int number = 0;
  const auto suffix = std::to_string(number++);
  registry.register_sync("Numbers" + suffix, std::make_unique<NumbersFactory>());
  registry.register_sync("Judge" + suffix, std::make_unique<JudgeFactory>(expected));
  core::GraphSpec spec;
  spec.add_node("numbers", "Numbers" + suffix);
  std::string last = "numbers";
  for (const auto &node : nodes) {
    spec.add_node(node).connect(last, 0, node.name, 0);
    last = node.name;
  }
  spec.add_node("judge", "Judge" + suffix).connect(last, 0, "judge", 0);
  try {
    runtime::Compiler compiler(registry, config);
    const std::unique_ptr<runtime::CompilerOutput> output = compiler.compile(spec);
    runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
    scheduler.start();
    scheduler.wait();
    const auto &judge = dynamic_cast<Judge &>(*output->resources.tasks.at("judge"));
    if (judge.seen != 5)
      throw std::runtime_error(std::to_string(judge.seen) + " of 5 frames came");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\n", nodes[nodes.size() / 2].kind.c_str(), error.what());
    return 1;
  }
  std::printf("%s: right\n", nodes[nodes.size() / 2].kind.c_str());
  return 0;
}

inline double same(double value) {
  return value;
}
inline double square_root(double value) {
  return std::sqrt(value);
}

}  // namespace api_test
