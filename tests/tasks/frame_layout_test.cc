// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures become packed frames: strides, orders of colours, grey.
#include "holoflow/tasks/input_output/frame_layout.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace holoflow::tasks {

using core::DType;
using core::MemLoc;
using core::TDesc;
using runtime::Picture;
using ::testing::HasSubstr;

namespace {

// A picture with `stride` bytes a row whose bytes are counted up; gaps too.
struct TestPicture {
  std::vector<uint8_t> bytes;
  Picture picture;

  TestPicture(std::string format, size_t width, size_t height, size_t stride)
      : bytes(stride * height) {
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<uint8_t>(i * 37 + 11);
    picture.format = std::move(format);
    picture.width = width;
    picture.height = height;
    picture.planes[0] = {reinterpret_cast<const std::byte *>(bytes.data()), stride};
  }
  [[nodiscard]] uint8_t at(size_t y, size_t byte) const {
    return bytes[y * picture.planes[0].stride + byte];
  }
};

std::vector<uint8_t> copied(const Picture &picture, const TDesc &tensor) {
  check_picture(picture, tensor);
  std::vector<uint8_t> frame(frame_bytes(tensor));
  copy_picture(picture, tensor, reinterpret_cast<std::byte *>(frame.data()));
  return frame;
}

TDesc colour_tensor(size_t height, size_t width, size_t channels, std::string format) {
  TDesc tensor({1, height, width, channels}, DType::U8, MemLoc::Host);
  tensor.media.emplace().pixel_format = std::move(format);
  return tensor;
}

int grey_of(int r, int g, int b) {
  return static_cast<int>(std::floor((299.0 * r + 587.0 * g + 114.0 * b) / 1000.0 + 0.5));
}

std::string refusal_of(const Picture &picture, const TDesc &tensor) {
  try {
    check_picture(picture, tensor);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST(FrameLayout, GreyOfColoursIsRightForEveryLevel) {
  // All grey levels, all levels of each colour alone, and a grid of mixtures.
  std::vector<std::array<uint8_t, 3>> colours;
  for (int level = 0; level < 256; ++level) {
    const auto v = static_cast<uint8_t>(level);
    colours.insert(colours.end(), {{v, v, v}, {v, 0, 0}, {0, v, 0}, {0, 0, v}});
  }
  for (int r = 0; r < 256; r += 5)
    for (int g = 0; g < 256; g += 3)
      for (int b = 0; b < 256; b += 5)
        colours.push_back(
            {static_cast<uint8_t>(r), static_cast<uint8_t>(g), static_cast<uint8_t>(b)});
  Picture picture{.format = "RGB", .width = colours.size(), .height = 1};
  picture.planes[0] = {reinterpret_cast<const std::byte *>(colours.data()), colours.size() * 3};
  const auto grey = copied(picture, TDesc({1, 1, colours.size()}, DType::U8, MemLoc::Host));
  for (size_t i = 0; i < colours.size(); ++i)
    ASSERT_EQ(grey[i], grey_of(colours[i][0], colours[i][1], colours[i][2])) << i;
}

TEST(FrameLayout, GreyReadsEveryOrderOfColoursAtOddWidthsAndStrides) {
  struct Order {
    const char *format;
    size_t channels, red, blue;
  };
  for (const Order &order :
       {Order{"RGB", 3, 0, 2}, Order{"BGR", 3, 2, 0}, Order{"RGBA", 4, 0, 2},
        Order{"BGRA", 4, 2, 0}, Order{"RGBx", 4, 0, 2}, Order{"BGRx", 4, 2, 0}}) {
    for (const size_t width : {1u, 3u, 17u, 641u}) {
      const TestPicture test(order.format, width, 3, width * order.channels + 5);
      const auto grey = copied(test.picture, TDesc({1, 3, width}, DType::U8, MemLoc::Host));
      for (size_t y = 0; y < 3; ++y)
        for (size_t x = 0; x < width; ++x) {
          const size_t pixel = x * order.channels;
          ASSERT_EQ(
              grey[y * width + x],
              grey_of(
                  test.at(y, pixel + order.red), test.at(y, pixel + 1),
                  test.at(y, pixel + order.blue)))
              << order.format << " " << width << " " << y << " " << x;
        }
    }
  }
}

TEST(FrameLayout, LumaPlanesPassAsTheyStand) {
  for (const char *format : {"GRAY8", "NV12", "I420"}) {
    for (const size_t stride : {5u, 8u}) {
      const TestPicture test(format, 5, 3, stride);
      const TDesc tensor({1, 3, 5}, DType::U8, MemLoc::Host);
      const auto grey = copied(test.picture, tensor);
      for (size_t y = 0; y < 3; ++y)
        for (size_t x = 0; x < 5; ++x)
          ASSERT_EQ(grey[y * 5 + x], test.at(y, x)) << format;
      EXPECT_EQ(packed_frame(test.picture, tensor) != nullptr, stride == 5) << format;
    }
  }
}

TEST(FrameLayout, SixteenBitRowsKeepTheirBytes) {
  const TestPicture test("GRAY16_LE", 3, 2, 8);
  const auto frame = copied(test.picture, TDesc({1, 2, 3}, DType::U16, MemLoc::Host));
  for (size_t y = 0; y < 2; ++y)
    for (size_t byte = 0; byte < 6; ++byte)
      EXPECT_EQ(frame[y * 6 + byte], test.at(y, byte));
}

TEST(FrameLayout, ColoursTakeTheTensorsOrder) {
  const std::vector<uint8_t> pixel{10, 20, 30, 40};
  const auto convert = [&](std::string format, std::string target, size_t channels) {
    Picture picture{.format = std::move(format), .width = 1, .height = 1};
    picture.planes[0] = {reinterpret_cast<const std::byte *>(pixel.data()), 4};
    return copied(picture, colour_tensor(1, 1, channels, std::move(target)));
  };
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(convert("RGB", "RGB", 3), (Bytes{10, 20, 30}));
  EXPECT_EQ(convert("BGR", "RGB", 3), (Bytes{30, 20, 10}));
  EXPECT_EQ(convert("BGR", "BGR", 3), (Bytes{10, 20, 30}));
  EXPECT_EQ(convert("BGRx", "RGB", 3), (Bytes{30, 20, 10}));
  EXPECT_EQ(convert("BGRA", "RGBA", 4), (Bytes{30, 20, 10, 40}));
  EXPECT_EQ(convert("RGBA", "BGRA", 4), (Bytes{30, 20, 10, 40}));
  EXPECT_EQ(convert("RGBx", "RGBA", 4), (Bytes{10, 20, 30, 255}));
  EXPECT_EQ(convert("RGB", "RGBA", 4), (Bytes{10, 20, 30, 255}));
  EXPECT_EQ(convert("GRAY8", "RGB", 3), (Bytes{10, 10, 10}));
  EXPECT_EQ(convert("BGR", "", 3), (Bytes{10, 20, 30})) << "no order given: as the picture";
  EXPECT_EQ(convert("BGR", "", 4), (Bytes{30, 20, 10, 255})) << "no order given: RGBA";
}

TEST(FrameLayout, OnlyMemoryInTheTensorsOrderIsPacked) {
  const TestPicture test("BGR", 3, 2, 9);
  EXPECT_EQ(packed_frame(test.picture, colour_tensor(2, 3, 3, "BGR")), test.picture.planes[0].data);
  EXPECT_EQ(packed_frame(test.picture, colour_tensor(2, 3, 3, "RGB")), nullptr);
  EXPECT_EQ(packed_frame(test.picture, TDesc({1, 2, 3}, DType::U8, MemLoc::Host)), nullptr);
  const TestPicture one_row("GRAY8", 3, 1, 64);
  EXPECT_NE(packed_frame(one_row.picture, TDesc({1, 1, 3}, DType::U8, MemLoc::Host)), nullptr)
      << "the stride of a single row does not matter";
}

TEST(FrameLayout, RefusesPicturesThatDoNotFit) {
  const TDesc grey({1, 4, 6}, DType::U8, MemLoc::Host);
  EXPECT_EQ(
      refusal_of(TestPicture("GRAY8", 5, 4, 5).picture, grey),
      "expected a picture of 6x4, got GRAY8 5x4");
  EXPECT_THAT(
      refusal_of(TestPicture("AYUV", 6, 4, 24).picture, grey),
      HasSubstr("NV12 or I420, got AYUV 6x4"));
  EXPECT_THAT(
      refusal_of(TestPicture("GRAY16_LE", 6, 4, 12).picture, grey),
      HasSubstr("expected frames of U8 [1, 4, 6] on Host, got a GRAY16_LE 6x4 picture"));
  EXPECT_THAT(
      refusal_of(TestPicture("RGB", 6, 4, 17).picture, grey),
      HasSubstr("rows of at least 18 bytes, got RGB 6x4 with a stride of 17"));
  EXPECT_THAT(
      refusal_of(TestPicture("GRAY8", 6, 4, 6).picture, TDesc({4, 6}, DType::U8, MemLoc::Host)),
      HasSubstr("expected frames of U8 [4, 6] on Host"));
}

}  // namespace holoflow::tasks
