// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/emulated/graph_runs.hh"

#include <gtest/gtest.h>

#include "tests/emulated/control.hh"

namespace holoflow::emulated {

using runtime::CompilerConfig;

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
