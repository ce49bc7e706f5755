// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/emulated/graph_runs.hh"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "holoflow/builtin_tasks.hh"
#include "tests/emulated/control.hh"

namespace holoflow::emulated {

namespace {

using runtime::CompilerConfig;
using runtime::GraphRunner;

/// A pushed tensor that knows how often it was given back.
struct Pushed {
  Bytes bytes;
  std::atomic<int> releases = 0;
};

// Every pixel tells frame and place; small numbers, so that no task leaves what F32 holds exactly.
Bytes content(const core::TDesc &tensor, int number) {
  Bytes bytes(tensor.num_bytes());
  const size_t elements = tensor.num_elements();
  for (size_t i = 0; i < elements; ++i) {
    const auto value = static_cast<unsigned>(number) * 7 + static_cast<unsigned>(i);
    if (tensor.dtype == core::DType::F32) {
      const auto element = static_cast<float>(value % 251);
      std::memcpy(bytes.data() + i * sizeof(float), &element, sizeof(float));
    } else {
      bytes[i] = static_cast<std::byte>(value % 251);
    }
  }
  return bytes;
}

class Runner {
public:
  Runner(const Run &what, CompilerConfig::Device device) : what_(what) {
    CompilerConfig config;
    config.device = device;
    config.inputs = what.inputs;
    try {
      GraphRunner runner = GraphRunner::from_spec(what.graph, config);
      drive(runner);
    } catch (const std::exception &error) {
      keep(error);
    }
    for (const auto &pushed : pushed_)
      outcome_.not_released += pushed->releases != 1;
  }

  [[nodiscard]] Outcome take() { return std::move(outcome_); }

private:
  void drive(GraphRunner &runner) {
    for (const auto &node : what_.graph.nodes)
      if (node.kind == "Output")
        outcome_.outputs[node.name];
    std::vector<std::jthread> threads;
    for (const auto &[name, tensor] : what_.inputs)
      threads.emplace_back([this, &runner, name = name, tensor = tensor] {
        guard([&] { feed(runner, name, tensor); });
      });
    for (auto &[name, tensors] : outcome_.outputs)
      threads.emplace_back([this, &runner, name = name, &tensors = tensors] {
        guard([&] {
          while (const auto tensor = runner.pop(name))
            tensors.emplace_back(tensor->data(), tensor->data() + tensor->desc().num_bytes());
        });
      });
  }

  void feed(GraphRunner &runner, const std::string &name, const core::TDesc &tensor) {
    for (int number = 0; number < what_.pushes; ++number) {
      auto pushed = std::make_shared<Pushed>();
      pushed->bytes = content(tensor, number);
      {
        const std::lock_guard lock(mutex_);
        pushed_.push_back(pushed);
      }
      const auto release = [pushed] {
        ++pushed->releases;
        std::memset(pushed->bytes.data(), 0xDB, pushed->bytes.size());
      };
      if (!runner.push(name, pushed->bytes.data(), tensor, {}, release))
        break;
    }
    runner.end(name);
  }

  template <typename Body> void guard(Body body) {
    try {
      body();
    } catch (const std::exception &error) {
      keep(error);
    }
  }

  void keep(const std::exception &error) {
    const std::lock_guard lock(mutex_);
    if (outcome_.error.empty())
      outcome_.error = error.what();
  }

  const Run &what_;
  std::mutex mutex_;  // guards pushed_ and outcome_.error
  std::vector<std::shared_ptr<Pushed>> pushed_;  // shared with the callback
  Outcome outcome_;
};

}  // namespace

Run chain_run(const std::string &chain, const core::TDesc &tensor, int pushes) {
  core::Registry registry;
  register_builtin_tasks(registry);
  return {core::GraphSpec::from_chain(chain, registry.keys()), {{"input", tensor}}, pushes};
}

Run json_run(const std::string &json, const core::TDesc &tensor, int pushes) {
  Run result{core::GraphSpec::from_json(json), {}, pushes};
  for (const auto &node : result.graph.nodes)
    if (node.kind == "Input")
      result.inputs.emplace(node.name, tensor);
  return result;
}

Outcome run(const Run &what, CompilerConfig::Device device) {
  return Runner(what, device).take();
}

void expect_same_as_on_the_cpu(const Run &what) {
  const Outcome want = run(what, CompilerConfig::Device::Cpu);
  ASSERT_EQ(want.error, "");
  ASSERT_NE(control(), nullptr);
  const uint64_t written_before = control()->written_after_free();
  const Outcome got = run(what, CompilerConfig::Device::Cuda);
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.not_released, 0);
  EXPECT_EQ(control()->written_after_free(), written_before);
  EXPECT_EQ(control()->pending(), 0u);
  ASSERT_EQ(got.outputs.size(), want.outputs.size());
  for (const auto &[name, tensors] : want.outputs) {
    const auto &others = got.outputs.at(name);
    ASSERT_EQ(others.size(), tensors.size()) << name;
    for (size_t i = 0; i < tensors.size(); ++i)
      EXPECT_EQ(others[i], tensors[i]) << name << ", tensor " << i;
  }
}

}  // namespace holoflow::emulated
