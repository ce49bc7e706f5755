// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/graph_runs.hh"

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "holoflow/builtin_tasks.hh"

namespace holoflow::test {

namespace {

using runtime::CompilerConfig;
using runtime::GraphRunner;

/// A pushed tensor that knows how often it was given back.
struct Pushed {
  Pushed(runtime::Device &device, const Bytes &content)
      : memory(device, core::MemLoc::Host, content.size()) {
    std::memcpy(memory.get(), content.data(), content.size());
  }
  runtime::MemoryBlock memory;
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
  Runner(const Run &what, CompilerConfig config)
      : what_(what), memory_(what.page_locked ? runtime::cuda_device() : runtime::host_device()) {
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
        runner.end(name);
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
      const auto bytes = content(tensor, number);
      auto pushed = std::make_shared<Pushed>(memory_, bytes);
      {
        const std::lock_guard lock(mutex_);
        pushed_.push_back(pushed);
      }
      const auto release = [pushed] {
        ++pushed->releases;
        std::memset(pushed->memory.get(), 0xDB, pushed->memory.bytes());
      };
      if (!runner.push(name, pushed->memory.get(), tensor, {}, release))
        break;
    }
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
  runtime::Device &memory_;  // whose Host memory is pushed
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

Outcome run(const Run &what, const CompilerConfig &config) {
  return Runner(what, config).take();
}

Outcome run(const Run &what, CompilerConfig::Device device) {
  CompilerConfig config;
  config.device = device;
  return run(what, config);
}

}  // namespace holoflow::test
