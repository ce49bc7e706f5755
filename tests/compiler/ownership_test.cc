// SPDX-License-Identifier: LGPL-2.1-or-later
// Case C41: built-in owners give way to each other on the CPU.
#include "compile_fixture.hh"
#include "holoflow/builtin_tasks.hh"

namespace holoflow::test {

class OwnershipTest : public CompilerTest {
protected:
  OwnershipTest() { register_builtin_tasks(builtins); }

  std::unique_ptr<runtime::CompilerOutput> compile_frames(const core::GraphSpec &spec) {
    return runtime::Compiler(
               builtins,
               {.device = runtime::CompilerConfig::Device::Cpu, .inputs = {{"in", frame}}})
        .compile(spec);
  }

  core::Registry builtins;
  const core::TDesc frame{{1, 4, 4}, core::DType::U8, core::MemLoc::Host};
};

TEST_F(OwnershipTest, C41_InputAndOutputGiveWayToAQueue) {
  const auto output =
      compile_frames(chain({{"in", "Input"}, {"q", "BatchQueue"}, {"out", "Output"}}));
  EXPECT_EQ(node(*output, "in").infer.owned_outputs, std::vector<bool>{false});
  EXPECT_EQ(node(*output, "q").infer.owned_inputs, std::vector<bool>{true});
  EXPECT_EQ(node(*output, "q").infer.owned_outputs, std::vector<bool>{true});
  EXPECT_EQ(node(*output, "out").infer.owned_inputs, std::vector<bool>{false});
}

TEST_F(OwnershipTest, C41_TheSecondOfTwoQueuesOnOneTensorGivesWay) {
  core::GraphSpec spec;
  spec.add_node("in", "Input").add_node("q1", "BatchQueue").add_node("q2", "BatchQueue");
  spec.add_node("a", "Output").add_node("b", "Output");
  spec.connect("in", 0, "q1", 0).connect("in", 0, "q2", 0);
  spec.connect("q1", 0, "a", 0).connect("q2", 0, "b", 0);
  const auto output = compile_frames(spec);
  EXPECT_EQ(node(*output, "in").infer.owned_outputs, std::vector<bool>{false});
  EXPECT_EQ(node(*output, "q1").infer.owned_inputs, std::vector<bool>{true});
  EXPECT_EQ(node(*output, "q2").infer.owned_inputs, std::vector<bool>{false});
  // Who gave way is pushed before the owner, which takes the memory away.
  EXPECT_THAT(names(*output, output->sections[0].async_prod), testing::ElementsAre("q2", "q1"));
}

TEST_F(OwnershipTest, UploadOnTheCpuCopiesBetweenTwoOwners) {
  const auto output = compile_frames(
      chain({{"in", "Input"}, {"up", "Upload"}, {"q", "BatchQueue"}, {"out", "Output"}}));
  EXPECT_EQ(node(*output, "in").infer.owned_outputs, std::vector<bool>{true});
  EXPECT_EQ(node(*output, "q").infer.owned_inputs, std::vector<bool>{true});
}

}  // namespace holoflow::test
