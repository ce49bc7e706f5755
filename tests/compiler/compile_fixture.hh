// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiles graphs of fake tasks.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../support/fake_tasks.hh"
#include "holoflow/runtime/compiler.hh"

namespace holoflow::test {

class CompilerTest : public testing::Test {
protected:
  std::unique_ptr<runtime::CompilerOutput> compile(const core::GraphSpec &spec) {
    return runtime::Compiler(registry, {.device = runtime::CompilerConfig::Device::Cpu})
        .compile(spec);
  }

  /// The text of every fault, one per line; "" where the graph compiles.
  std::string faults_of(const core::GraphSpec &spec) {
    try {
      (void)compile(spec);
      return {};
    } catch (const core::CompileError &error) {
      EXPECT_FALSE(error.faults.empty());
      return error.what();
    }
  }

  static const runtime::NodePlan &node(
      const runtime::CompilerOutput &output, const std::string &name) {
    for (const auto &node : output.graph.nodes)
      if (node.spec.name == name)
        return node;
    throw std::out_of_range(name);
  }

  static std::vector<std::string> names(
      const runtime::CompilerOutput &output, const std::vector<size_t> &indices) {
    std::vector<std::string> result;
    for (const auto index : indices)
      result.push_back(output.graph.nodes[index].spec.name);
    return result;
  }

  static core::GraphSpec chain(const std::vector<std::pair<std::string, std::string>> &nodes) {
    core::GraphSpec spec;
    for (size_t i = 0; i < nodes.size(); ++i) {
      spec.add_node(nodes[i].first, nodes[i].second);
      if (i > 0)
        spec.connect(nodes[i - 1].first, 0, nodes[i].first, 0);
    }
    return spec;
  }

  core::Registry registry;
  FakeTasks fakes{registry};
};

}  // namespace holoflow::test
