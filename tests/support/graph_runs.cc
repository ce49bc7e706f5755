// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/graph_runs.hh"

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/error.hh"

namespace holoflow::test {

namespace {

using runtime::CompilerConfig;
using runtime::GraphRunner;

/// A pushed tensor that knows how often it was given back.
struct Pushed {
  std::shared_ptr<std::byte[]> bytes;
  std::atomic<int> releases = 0;
};

// Every pixel tells frame and place; small numbers, so that no task leaves what F32 holds exactly.
void fill(std::byte *bytes, const core::TDesc &tensor, int number) {
  const size_t elements = tensor.num_elements();
  for (size_t i = 0; i < elements; ++i) {
    const auto value = static_cast<unsigned>(number) * 7 + static_cast<unsigned>(i);
    if (tensor.dtype == core::DType::F32) {
      const auto element = static_cast<float>(value % 251);
      std::memcpy(bytes + i * sizeof(float), &element, sizeof(float));
    } else {
      bytes[i] = static_cast<std::byte>(value % 251);
    }
  }
}

class Runner {
public:
  Runner(const Run &what, CompilerConfig config) : what_(what) {
    config.inputs = what.inputs;
    try {
      GraphRunner runner = GraphRunner::from_spec(what.graph, config, what.registry);
      drive(runner);
      outcome_.replays = runner.scheduler().replays();
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
      auto pushed = std::make_shared<Pushed>();
      pushed->bytes = what_.memory ? what_.memory(tensor.num_bytes())
                                   : std::make_shared<std::byte[]>(tensor.num_bytes());
      fill(pushed->bytes.get(), tensor, number);
      {
        const std::lock_guard lock(mutex_);
        pushed_.push_back(pushed);
      }
      const auto release = [pushed, size = tensor.num_bytes()] {
        ++pushed->releases;
        std::memset(pushed->bytes.get(), 0xDB, size);
      };
      if (!runner.push(name, pushed->bytes.get(), tensor, {}, release))
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
    if (outcome_.error.empty()) {
      outcome_.error = error.what();
      outcome_.is_device_error = dynamic_cast<const core::DeviceError *>(&error) != nullptr;
    } else if (outcome_.error != error.what()) {
      outcome_.other_errors.emplace_back(error.what());
    }
  }

  const Run &what_;
  std::mutex mutex_;  // guards pushed_ and the errors in outcome_
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
