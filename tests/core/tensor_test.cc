// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensor descriptors as values: sizes, strides, text and JSON.
#include "holoflow/core/tensor.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace holoflow::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Sizes = std::vector<size_t>;

constexpr size_t huge = std::numeric_limits<size_t>::max();

TEST(DTypes, HaveTheSizeAndNameOfTheReferences) {
  EXPECT_EQ(size_of(DType::U8), 1u);
  EXPECT_EQ(size_of(DType::U16), 2u);
  EXPECT_EQ(size_of(DType::F32), 4u);
  EXPECT_EQ(size_of(DType::CF32), 8u);
  for (DType dtype : {DType::U8, DType::U16, DType::F32, DType::CF32})
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
  EXPECT_EQ(to_string(DType::CF32), "CF32");
  EXPECT_EQ(dtype_from_string("f32"), std::nullopt);
  EXPECT_EQ(dtype_from_string(""), std::nullopt);
}

TEST(TDesc, PackedTensorsAreRowMajorWithStridesInBytes) {
  const TDesc desc({2, 3, 4}, DType::F32, MemLoc::Host);
  EXPECT_EQ(desc.strides, Sizes({48, 16, 4}));
  EXPECT_EQ(desc.rank(), 3u);
  EXPECT_EQ(desc.num_elements(), 24u);
  EXPECT_EQ(desc.num_bytes(), 96u);
  EXPECT_TRUE(is_packed(desc));
}

TEST(TDesc, RankZeroIsOneElement) {
  const TDesc desc(Sizes{}, DType::CF32, MemLoc::Host);
  EXPECT_EQ(desc.num_elements(), 1u);
  EXPECT_EQ(desc.num_bytes(), 8u);
  EXPECT_TRUE(is_packed(desc));
}

// Case N20: numpy.arange(60, dtype=float32).reshape(3, 4, 5)[1:3, 2, ::2].
TEST(TDesc, SlicedViewCoversTheBytesThatNumpyReads) {
  Tensor whole(TDesc({3, 4, 5}, DType::F32, MemLoc::Host));
  for (int i = 0; i < 60; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(whole.data() + size_t(i) * 4, &value, 4);
  }
  const TDesc slice({2, 3}, DType::F32, MemLoc::Host, Sizes{80, 8}, 120);
  EXPECT_EQ(slice.num_bytes(), 100u);
  EXPECT_EQ(slice.num_elements(), 6u);
  EXPECT_FALSE(is_packed(slice));
  const TView view{slice, whole.view().storage};
  std::vector<float> values;
  for (size_t row = 0; row < 2; ++row)
    for (size_t column = 0; column < 3; ++column) {
      float value = 0;
      std::memcpy(&value, view.data() + row * 80 + column * 8, 4);
      values.push_back(value);
    }
  EXPECT_THAT(values, ElementsAre(30, 32, 34, 50, 52, 54));
  // The last element ends exactly at the end of the view.
  EXPECT_EQ(slice.offset + slice.num_bytes(), 55u * 4u);
}

TEST(TDesc, TransposedViewHasTheExtentOfItsStorage) {
  const TDesc transposed({3, 2}, DType::F32, MemLoc::Host, Sizes{4, 12});
  EXPECT_EQ(transposed.num_bytes(), 24u);
  EXPECT_FALSE(is_packed(transposed));
}

TEST(TDesc, BroadcastViewIsOneElementLarge) {
  const TDesc repeated({1000, 1000}, DType::U16, MemLoc::Host, Sizes{0, 0});
  EXPECT_EQ(repeated.num_elements(), 1000000u);
  EXPECT_EQ(repeated.num_bytes(), 2u);
}

TEST(TDesc, StrideOfAnAxisWithOneElementDoesNotMatterForPacking) {
  EXPECT_TRUE(is_packed(TDesc({1, 3, 1}, DType::U8, MemLoc::Host, Sizes{999, 1, 77})));
  EXPECT_FALSE(is_packed(TDesc({2, 3}, DType::U8, MemLoc::Host, Sizes{4, 1})));
}

TEST(TDesc, EmptyTensorHasNoBytesAndItsStridesAreNumpys) {
  const TDesc desc({2, 0, 3}, DType::F32, MemLoc::Host, 64);
  EXPECT_EQ(desc.num_elements(), 0u);
  EXPECT_EQ(desc.num_bytes(), 0u);
  EXPECT_EQ(desc.strides, Sizes({12, 12, 4}));
  EXPECT_TRUE(is_packed(desc));
}

TEST(TDesc, SizesThatOverflowThrow) {
  EXPECT_THAT(
      [] {
        TDesc({huge, 2}, DType::U8, MemLoc::Host);
      },
      ThrowsMessage<std::overflow_error>(HasSubstr("does not fit in 64 bits")));
  EXPECT_THAT(
      [] { TDesc({size_t{1} << 62}, DType::F32, MemLoc::Host); },
      ThrowsMessage<std::overflow_error>(
          HasSubstr("tensor F32 [4611686018427387904]: its size in bytes")));
  EXPECT_THROW(TDesc({16}, DType::U8, MemLoc::Host, huge - 15), std::overflow_error);
  EXPECT_EQ(TDesc({15}, DType::U8, MemLoc::Host, huge - 15).offset, huge - 15);
  const TDesc strided({3}, DType::U8, MemLoc::Host, Sizes{huge / 2 + 1});
  EXPECT_THROW((void)strided.num_bytes(), std::overflow_error);
  EXPECT_EQ(strided.num_elements(), 3u);
  TDesc many({1, 1}, DType::U8, MemLoc::Host);
  many.shape = {huge, 2};
  EXPECT_THROW((void)many.num_elements(), std::overflow_error);
}

TEST(TDesc, OneStridePerAxisIsExpected) {
  EXPECT_THAT(
      [] {
        TDesc({2, 3}, DType::U8, MemLoc::Host, Sizes{1});
      },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("expected one stride per axis of [2, 3], got [1]")));
}

TEST(TDesc, EqualityLooksAtEverythingButMedia) {
  const TDesc desc({2, 3}, DType::U8, MemLoc::Host);
  TDesc other = desc;
  other.media.emplace().pixel_format = "GRAY8";
  EXPECT_EQ(desc, other);
  other.offset = 1;
  EXPECT_NE(desc, other);
  other = desc;
  other.mem_loc = MemLoc::Device;
  EXPECT_NE(desc, other);
  other = desc;
  other.strides = {4, 1};
  EXPECT_NE(desc, other);
}

TEST(TDesc, TextNamesStridesAndOffsetOnlyWhereTheyMatter) {
  EXPECT_EQ(
      to_string(TDesc({1, 480, 640}, DType::F32, MemLoc::Device)), "F32 [1, 480, 640] on Device");
  EXPECT_EQ(
      to_string(TDesc({2, 3}, DType::F32, MemLoc::Host, Sizes{80, 8}, 120)),
      "F32 [2, 3] on Host, strides [80, 8], offset 120");
  EXPECT_EQ(to_string(TDesc(Sizes{}, DType::U8, MemLoc::Host)), "U8 [] on Host");
}

TEST(TDesc, JsonGoesThereAndBack) {
  TDesc desc({2, 3}, DType::CF32, MemLoc::Device, Sizes{80, 8}, 120);
  desc.media.emplace();
  desc.media->pixel_format = "RGB";
  desc.media->channel_axis = 3;
  desc.media->records = 1;
  const nlohmann::json json = desc;
  EXPECT_EQ(
      json.dump(),
      R"({"dtype":"CF32","media":{"channel_axis":3,"pixel_format":"RGB","records":1},)"
      R"("mem_loc":"Device","offset":120,"shape":[2,3],"strides":[80,8]})");
  const auto back = json.get<TDesc>();
  EXPECT_EQ(back, desc);
  ASSERT_TRUE(back.media.has_value());
  EXPECT_EQ(back.media->pixel_format, "RGB");
  EXPECT_EQ(back.media->channel_axis, 3);
  EXPECT_EQ(back.media->records, 1u);
}

TEST(TDesc, JsonWithoutStridesIsPacked) {
  const auto desc = nlohmann::json::parse(R"({"shape": [2, 3], "dtype": "F32"})").get<TDesc>();
  EXPECT_EQ(desc, TDesc({2, 3}, DType::F32, MemLoc::Host));
}

TEST(TDesc, JsonFaultsSayWhatWasExpected) {
  const auto read = [](const char *text) {
    return [text] { (void)nlohmann::json::parse(text).get<TDesc>(); };
  };
  EXPECT_THAT(
      read(R"({"shape": [2], "dtype": "F64"})"),
      ThrowsMessage<std::invalid_argument>(
          R"(dtype: expected one of "U8", "U16", "F32", "CF32", got "F64")"));
  EXPECT_THAT(
      read(R"({"shape": [2.0], "dtype": "U8"})"),
      ThrowsMessage<std::invalid_argument>("shape: expected an integer of at least 0, got 2.0"));
  EXPECT_THAT(
      read(R"({"shape": [-1], "dtype": "U8"})"),
      ThrowsMessage<std::invalid_argument>(HasSubstr("got -1")));
  EXPECT_THAT(
      read(R"({"dtype": "U8"})"),
      ThrowsMessage<std::invalid_argument>(HasSubstr("\"shape\" is missing")));
  EXPECT_THAT(
      read(R"({"shape": [1], "dtype": "U8", "mem_loc": "GPU"})"),
      ThrowsMessage<std::invalid_argument>(
          R"(mem_loc: expected one of "Host", "Device", got "GPU")"));
}

TEST(TView, DataIsTheFirstElementAndFollowsItsStorage) {
  std::byte memory[32];
  Storage storage{MemLoc::Host, sizeof(memory), memory};
  const TView view{TDesc({4}, DType::U8, MemLoc::Host, 8), &storage};
  EXPECT_EQ(view.data(), memory + 8);
  storage.ptr = memory + 16;
  EXPECT_EQ(view.data(), memory + 24);
  storage.ptr = nullptr;
  EXPECT_EQ(view.data(), nullptr);
  EXPECT_EQ(TView{}.data(), nullptr);
}

TEST(Tensor, OwnsZeroedMemoryForOffsetAndExtent) {
  Tensor tensor(TDesc({2, 2}, DType::U16, MemLoc::Host, Sizes{8, 2}, 6));
  EXPECT_EQ(tensor.view().storage->bytes, 6u + 12u);
  for (size_t i = 0; i < 12; ++i)
    EXPECT_EQ(tensor.data()[i], std::byte{0});
}

TEST(Tensor, ViewsSurviveAMove) {
  Tensor tensor(TDesc({4}, DType::U8, MemLoc::Host));
  const TView view = tensor.view();
  const Tensor moved = std::move(tensor);
  EXPECT_EQ(view.data(), moved.data());
}

TEST(Tensor, RefusesDeviceMemory) {
  EXPECT_THAT(
      [] { Tensor(TDesc({4}, DType::U8, MemLoc::Device)); },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("expected a descriptor on Host, got U8 [4] on Device")));
}

}  // namespace
}  // namespace holoflow::core
