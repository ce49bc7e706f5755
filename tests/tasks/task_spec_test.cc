// SPDX-License-Identifier: LGPL-2.1-or-later
// Specs: params, defaults, every fault at once, choice of the implementation.
#include "holoflow/tasks/task_spec.hh"

#include "holoflow/core/error.hh"
#include "holoflow/tasks/common/infer.hh"
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using namespace holoflow::tasks;
using nlohmann::json;

class Nothing final : public core::ISyncTask {
public:
  explicit Nothing(json params) : params(std::move(params)) {}
  core::OpResult execute(core::SyncCtx &) override { return core::OpResult::Ok; }
  json params;
};

std::unique_ptr<core::ISyncTask> make_nothing(const MakeArgs<core::SyncCreateCtx> &args) {
  return std::make_unique<Nothing>(args.params);
}

TaskSpec example_spec() {
  TaskSpec spec;
  spec.type = "Example";
  spec.inputs = {{"x", ""}, {"valid", "", {core::DType::U8}, true}};
  spec.outputs = {{"y", ""}};
  spec.params = {
      {"size", Int, "elements", json(4), 1},
      {"rate", Number, "", {}, 0, true},
      {"names", String | Null, "", json(nullptr)},
      {"mode", String, "", json("block"), {}, false, {"block", "drop"}},
  };
  spec.infer = without_context([](std::span<const core::TDesc> inputs, const json &) {
    core::InferResult result;
    result.output_descs = {core::TDesc(inputs[0].shape, core::DType::F32, inputs[0].mem_loc)};
    return result;
  });
  spec.make_sync = make_nothing;
  return spec;
}

std::string first_fault(const json &settings) {
  try {
    (void)complete_params(example_spec(), settings);
  } catch (const ParamError &error) {
    return error.pointer + " " + error.what();
  }
  return "";
}

TEST(TaskSpec, FillsInDefaults) {
  EXPECT_EQ(
      complete_params(example_spec(), {{"rate", 2}}),
      json::parse(R"({"size": 4, "rate": 2, "names": null, "mode": "block"})"));
}

TEST(TaskSpec, NamesThePointerAndWhatItExpected) {
  EXPECT_EQ(first_fault({{"rate", 0}}), "/rate param \"rate\": expected > 0, got 0");
  EXPECT_EQ(first_fault({{"rate", 1}, {"size", 0}}), "/size param \"size\": expected ≥ 1, got 0");
  EXPECT_EQ(
      first_fault({{"rate", 1}, {"size", 4.0}}),
      "/size param \"size\": expected an integer, got 4.0; write 4");
  EXPECT_EQ(
      first_fault({{"rate", 1}, {"size", 18446744073709551615u}}),
      "/size param \"size\": expected an integer, got 18446744073709551615");
  EXPECT_EQ(
      first_fault({{"rate", 1}, {"names", 3}}),
      "/names param \"names\": expected a string or null, got 3");
  EXPECT_EQ(
      first_fault({{"rate", 1}, {"mode", "dorp"}}),
      "/mode param \"mode\": expected block or drop, got \"dorp\"; did you mean \"drop\"?");
  EXPECT_EQ(
      first_fault({{"rate", 1}, {"sise", 1}}),
      "/sise unknown param \"sise\"; did you mean \"size\"?; expected one of \"size\", "
      "\"rate\", \"names\", \"mode\"");
  EXPECT_EQ(first_fault(nullptr), " param \"rate\" is required: expected a number");
  EXPECT_EQ(first_fault(json::array()), " params: expected an object, got []");
}

TEST(TaskSpec, FindsEveryFault) {
  const auto faults = check_params(example_spec(), {{"size", "a"}, {"a/b", 1}, {"mode", true}});
  ASSERT_EQ(faults.size(), 4u);
  EXPECT_EQ(faults[0].pointer, "/a~1b");
  EXPECT_EQ(faults[1].pointer, "/mode");
  EXPECT_EQ(faults[2].pointer, "/size");
  EXPECT_STREQ(faults[3].what(), "param \"rate\" is required: expected a number");
}

class TaskSpecFactory : public testing::Test {
protected:
  TaskSpecFactory() { register_spec(registry, example_spec()); }

  [[nodiscard]] const core::ISyncTaskFactory &factory() const {
    return registry.get_sync("Example");
  }

  core::Registry registry;
  json params = {{"rate", 1}};
  std::vector<core::TDesc> host = {core::TDesc({2, 3}, core::DType::U8, core::MemLoc::Host)};
  std::vector<core::TDesc> device = {core::TDesc({2, 3}, core::DType::U8, core::MemLoc::Device)};
};

TEST_F(TaskSpecFactory, CompletesTheContract) {
  host[0].media.emplace().channel_axis = 1;
  const core::InferResult infer = factory().infer(host, params);
  EXPECT_EQ(infer.input_descs, host);
  EXPECT_EQ(infer.owned_inputs, std::vector<bool>{false});
  EXPECT_EQ(infer.owned_outputs, std::vector<bool>{false});
  EXPECT_EQ(infer.kind, core::TaskKind::Sync);
  ASSERT_TRUE(infer.output_descs[0].media);
  EXPECT_EQ(infer.output_descs[0].media->channel_axis, 1);
}

TEST_F(TaskSpecFactory, TakesOptionalInputsOrNot) {
  host.push_back(host[0]);
  EXPECT_NO_THROW((void)factory().infer(host, params));
  host[1] = core::TDesc({2, 3}, core::DType::U16, core::MemLoc::Host);
  try {
    (void)factory().infer(host, params);
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(
        error.what(),
        "input 1 (\"valid\"): expected U8, got U16 [2, 3] on Host; add a \"Conversion\" "
        "node (target U8) before it");
  }
  host.resize(3);
  try {
    (void)factory().infer(host, params);
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "expected 1 to 2 inputs, got 3; remove the edge to input 2");
  }
}

TEST_F(TaskSpecFactory, GivesTheMakerCompleteParams) {
  const auto task = factory().create(host, params, {});
  EXPECT_EQ(dynamic_cast<Nothing &>(*task).params["size"], 4);
}

TEST_F(TaskSpecFactory, MakesANewTaskOnUpdate) {
  auto task = factory().create(host, params, {});
  params["size"] = 7;
  task = factory().update(std::move(task), host, params, {});
  EXPECT_EQ(dynamic_cast<Nothing &>(*task).params["size"], 7);
}

TEST_F(TaskSpecFactory, ChoosesTheDeviceMakerForDeviceTensors) {
  try {
    (void)factory().create(device, params, {});
    ADD_FAILURE() << "not refused";
  } catch (const core::DeviceError &error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("type \"Example\" has no implementation for Device tensors"), 0u) << text;
  }
  int made = 0;
  add_device_maker(registry, "Example", [&made](const MakeArgs<core::SyncCreateCtx> &args) {
    ++made;
    return make_nothing(args);
  });
  (void)factory().create(host, params, {});
  EXPECT_EQ(made, 0);
  (void)factory().create(device, params, {});
  EXPECT_EQ(made, 1);
}

TEST_F(TaskSpecFactory, IsFoundByTypeAndOnlyOnce) {
  ASSERT_NE(find_spec(registry, "Example"), nullptr);
  EXPECT_EQ(find_spec(registry, "Example")->params.size(), 4u);
  EXPECT_EQ(find_spec(registry, "Exampel"), nullptr);
  EXPECT_THROW(register_spec(registry, example_spec()), std::invalid_argument);
  EXPECT_THROW(add_device_maker(registry, "Exampel", SyncMaker(make_nothing)), std::out_of_range);
  EXPECT_THROW(add_device_maker(registry, "Example", AsyncMaker()), std::out_of_range);
}

}  // namespace
}  // namespace holoflow::test
