// SPDX-License-Identifier: LGPL-2.1-or-later
// Upload, Download, Memcpy and Copy; strided copies of Host memory.
#include <gmock/gmock.h>

#include <numeric>

#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"
#include "tests/tasks/slot_harness.hh"

namespace holoflow::test {

using core::DType;
using core::MemLoc;
using core::TDesc;
using ::testing::HasSubstr;

namespace {

std::vector<Array> views() {
  return {
      u8({2, 3}, iota(6)),
      u16({2, 3, 4}, iota(24)),
      f32({3, 5}, iota(15)),
      cf32({2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}}),
      scattered(u8({2, 3, 4}, iota(24))),
      scattered(u16({4, 5}, iota(20))),
      scattered(f32({2, 3, 2}, iota(12))),
      scattered(cf32({3}, {{1, 2}, {3, 4}, {5, 6}})),
      u8({4, 8}, iota(32)).strided({20, 1}, 3),  // rows with gaps
      f32({4, 16}, iota(64)).strided({96, 4}, 8),  // rows that a copy engine takes
      f32({3, 2}, iota(6)).strided({4, 12}),  // transposed
      u8({7}, iota(7)),
      f32({}, {5}),
      f32({0, 3}, {})};
}

std::vector<TaskVector> copies(const std::string &type, const nlohmann::json &params = {}) {
  std::vector<TaskVector> vectors;
  for (const Array &view : views()) {
    Array packed = view;
    packed.strides.reset();
    packed.offset = 0;
    vectors.push_back({type + " of a view", type, params, {view}, {packed}});
  }
  return vectors;
}

}  // namespace

TEST(Transfer, CopyPacksAnyViewOnHost) {
  check_vectors(Place::Host, copies("Copy"));
}
TEST(Transfer, CopyPacksAnyViewOnCuda) {
  check_vectors(Place::Device, copies("Copy"));
}
TEST(Transfer, MemcpyToHostPacksAnyViewOnHost) {
  check_vectors(Place::Host, copies("Memcpy", {{"target", "Host"}}));
}
TEST(Transfer, UploadAndDownloadAreViewsWhereThereIsNothingToMove) {
  for (const char *type : {"Upload", "Download"}) {
    const Array packed = f32({1, 2, 3}, iota(6));
    const core::InferResult infer = infer_task(type, {}, {packed});
    ASSERT_EQ(infer.in_place.size(), 1u) << type;
    EXPECT_FALSE(infer.in_place[0].required);
    EXPECT_FALSE(infer.in_place[0].writes);
    EXPECT_EQ(infer.output_descs[0], packed.desc(Place::Host));
  }
}

TEST(Transfer, UploadOfAStridedViewPacksOnTheCpuAsOnAGpu) {
  const Array view = scattered(f32({2, 3}, iota(6)));
  const core::InferResult infer = infer_task("Upload", {}, {view});
  EXPECT_TRUE(infer.in_place.empty());
  EXPECT_EQ(infer.output_descs[0], TDesc({2, 3}, DType::F32, MemLoc::Host));
  expect_equal(run_task(Place::Host, "Upload", {}, {view}).outputs[0], f32({2, 3}, iota(6)));
}

TEST(Transfer, UploadCopiesWhereTheAliasWasBroken) {
  const Array packed = u8({2, 3}, iota(6));
  expect_equal(run_task(Place::Host, "Upload", {}, {packed}, Sharing::Off).outputs[0], packed);
  expect_equal(run_task(Place::Host, "Download", {}, {packed}, Sharing::On).outputs[0], packed);
}

TEST(Transfer, KeepsTheAnnotation) {
  core::MediaInfo media;
  media.pixel_format = "GRAY8";
  const Array grey = u8({1, 2, 3}, iota(6)).with_media(media);
  for (const char *type : {"Upload", "Download", "Copy"}) {
    const core::InferResult infer = infer_task(type, {}, {grey});
    ASSERT_TRUE(infer.output_descs[0].media.has_value()) << type;
    EXPECT_EQ(infer.output_descs[0].media->pixel_format, "GRAY8") << type;
  }
}

TEST(Transfer, MemcpyToTheDeviceNeedsADevice) {
  EXPECT_THAT(
      refusal("Memcpy", {{"target", "Device"}}, {u8({2}, {1, 2})}),
      HasSubstr("expected \"Host\" where the graph runs on the CPU, got \"Device\"; a Memcpy "
                "to the Device needs a GPU"));
  EXPECT_THAT(refusal("Memcpy", {}, {u8({2}, {1, 2})}), HasSubstr("target"));
}

namespace {

// Runs one task of a graph on the GPU from one location to another and compares with a Host copy.
void check_between(
    const std::string &type, const nlohmann::json &params, const TDesc &from, MemLoc target) {
  runtime::Device &device = runtime::cuda_device();
  runtime::Stream stream(device);
  const auto &factory =
      dynamic_cast<const tasks::IContextualSyncFactory &>(registry(Place::Device).get(type));
  tasks::InferContext context;
  context.compute_location = MemLoc::Device;
  core::SyncCreateCtx ctx;
  ctx.stream = stream.get();
  ctx.device = device.index();
  const core::InferResult infer = factory.infer_in(context, {&from, 1}, params);
  const auto task = factory.create_in(context, {&from, 1}, params, ctx);
  const TDesc &to = infer.output_descs[0];
  EXPECT_EQ(to, TDesc(from.shape, from.dtype, target));

  std::vector<std::byte> source(from.offset + from.num_bytes());
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<std::byte>(i * 7 + 1);
  runtime::MemoryBlock from_block(device, from.mem_loc, source.size());
  runtime::MemoryBlock to_block(device, target, to.num_bytes());
  device.copy(
      from_block.get(), from.mem_loc, source.data(), MemLoc::Host, source.size(), stream.get());
  device.synchronize(stream.get());
  core::Storage from_storage{from.mem_loc, from_block.bytes(), from_block.get()};
  core::Storage to_storage{target, to_block.bytes(), to_block.get()};
  core::TView input{from, &from_storage}, output{to, &to_storage};
  core::SyncCtx call{.inputs = {&input, 1}, .outputs = {&output, 1}};
  ASSERT_EQ(task->execute(call), core::OpResult::Ok);

  std::vector<std::byte> got(to.num_bytes()), want(to.num_bytes());
  device.copy(got.data(), MemLoc::Host, to_block.get(), target, got.size(), stream.get());
  device.synchronize(stream.get());
  tasks::copy_strided(
      from, source.data() + from.offset, TDesc(from.shape, from.dtype, MemLoc::Host), want.data());
  EXPECT_EQ(got, want) << type << " of " << to_string(from);
}

}  // namespace

TEST(Transfer, MovesAnyViewBetweenHostAndCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const Array &view : views()) {
    const TDesc host = view.desc(Place::Host), device = view.desc(Place::Device);
    check_between("Upload", {}, host, MemLoc::Device);
    check_between("Download", {}, device, MemLoc::Host);
    check_between("Memcpy", {{"target", "Device"}}, host, MemLoc::Device);
    check_between("Memcpy", {{"target", "Device"}}, device, MemLoc::Device);
    check_between("Memcpy", {{"target", "Host"}}, device, MemLoc::Host);
    check_between("Memcpy", {{"target", "Host"}}, host, MemLoc::Host);
  }
}

TEST(StridedCopy, MergesAxesThatContinueEachOther) {
  const TDesc packed({2, 3, 4}, DType::F32, MemLoc::Host);
  EXPECT_EQ(tasks::plan_copy(packed, packed).run_bytes, 96u);
  EXPECT_TRUE(tasks::plan_copy(packed, packed).axes.empty());
  const TDesc rows({2, 3, 4}, DType::F32, MemLoc::Host, {96, 32, 4});
  const tasks::CopyPlan plan = tasks::plan_copy(rows, packed);
  EXPECT_EQ(plan.run_bytes, 16u);
  ASSERT_EQ(plan.axes.size(), 1u) << "frames follow each other as rows do";
  EXPECT_EQ(plan.axes[0].count, 6u);
}

TEST(StridedCopy, RefusesOtherShapes) {
  const TDesc a({2, 3}, DType::U8, MemLoc::Host), b({3, 2}, DType::U8, MemLoc::Host);
  EXPECT_THROW((void)tasks::plan_copy(a, b), std::invalid_argument);
}

}  // namespace holoflow::test
