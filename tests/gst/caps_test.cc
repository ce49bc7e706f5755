// SPDX-License-Identifier: LGPL-2.1-or-later
// The table between caps and tensors, without a pipeline.
#include "gst/gstholoflowcaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holoflow::gst {
namespace {

using core::DType;
using core::MemLoc;
using core::TDesc;
using ::testing::HasSubstr;

InputStream parse(const char *text, const std::string &as = "") {
  const CapsPtr caps(gst_caps_from_string(text));
  return parse_input_caps(caps.get(), as);
}

std::string refusal(const char *text, const std::string &as = "") {
  try {
    parse(text, as);
  } catch (const CapsError &error) {
    return error.what();
  }
  return "accepted";
}

std::string to_text(const CapsPtr &caps) {
  const TextPtr text(gst_caps_to_string(caps.get()));
  return text.get();
}

TDesc host(std::vector<size_t> shape, DType dtype) {
  return TDesc(shape, dtype, MemLoc::Host);
}

struct InputCase {
  const char *format;
  const char *as;
  TDesc frame;
  const char *pixel_format;
};

TEST(CapsTable, VideoFormatsBecomeTheTensorsOfTheContract) {
  const InputCase cases[] = {
      {"GRAY8", "", host({1, 481, 641}, DType::U8), "GRAY8"},
      {"GRAY16_LE", "", host({1, 481, 641}, DType::U16), "GRAY16_LE"},
      {"RGB", "", host({1, 481, 641, 3}, DType::U8), "RGB"},
      {"BGR", "", host({1, 481, 641, 3}, DType::U8), "BGR"},
      {"RGBA", "", host({1, 481, 641, 4}, DType::U8), "RGBA"},
      {"BGRA", "", host({1, 481, 641, 4}, DType::U8), "BGRA"},
      {"RGBx", "", host({1, 481, 641, 4}, DType::U8), "RGBx"},
      {"BGRx", "", host({1, 481, 641, 4}, DType::U8), "BGRx"},
      {"GRAY8", "GRAY", host({1, 481, 641}, DType::U8), "GRAY8"},
      {"GRAY16_LE", "GRAY", host({1, 481, 641}, DType::U16), "GRAY16_LE"},
      {"NV12", "GRAY", host({1, 481, 641}, DType::U8), "GRAY8"},
      {"I420", "GRAY", host({1, 481, 641}, DType::U8), "GRAY8"},
      {"BGRx", "GRAY", host({1, 481, 641}, DType::U8), "GRAY8"},
      {"BGR", "RGB", host({1, 481, 641, 3}, DType::U8), "BGR"},
      {"BGRA", "RGB", host({1, 481, 641, 3}, DType::U8), "RGB"},
      {"RGB", "RGBA", host({1, 481, 641, 4}, DType::U8), "RGBA"},
  };
  for (const auto &each : cases) {
    SCOPED_TRACE(std::string(each.format) + " as " + each.as);
    const std::string caps =
        std::string("video/x-raw,format=") + each.format + ",width=641,height=481,framerate=30/1";
    const auto stream = parse(caps.c_str(), each.as);
    EXPECT_EQ(stream.frame, each.frame) << core::to_string(stream.frame);
    ASSERT_TRUE(stream.frame.media.has_value());
    EXPECT_EQ(stream.frame.media->pixel_format, each.pixel_format);
    EXPECT_EQ(stream.frame.media->channel_axis.has_value(), stream.frame.rank() == 4);
    EXPECT_EQ(stream.rate, (Rate{30, 1}));
    EXPECT_EQ(stream.frames, 1u);
  }
}

TEST(CapsTable, FramesAsTensorsAreNoPictures) {
  const auto video = parse("video/x-raw,format=BGR,width=64,height=48", "TENSOR");
  EXPECT_EQ(video.frame, host({1, 48, 64, 3}, DType::U8));
  EXPECT_EQ(video.frame.media->channel_axis, std::nullopt);
  EXPECT_EQ(video.frame.media->pixel_format, "");
  const auto own =
      parse("application/x-holoflow-tensor,dtype=U8,shape=(string)\"2,48,64,3\"", "TENSOR");
  EXPECT_EQ(own.frame, host({1, 48, 64, 3}, DType::U8));
  EXPECT_EQ(input_rows("TENSOR"), input_rows(""));
  EXPECT_THAT(
      refusal("video/x-raw,format=NV12,width=4,height=4", "TENSOR"),
      HasSubstr("got NV12; say \"as\": \"GRAY\" on the Input node to get the luma plane"));
}

TEST(CapsTable, ColoursAreDescribedInTheAnnotation) {
  const auto stream = parse("video/x-raw,format=NV12,width=64,height=48,colorimetry=bt709", "GRAY");
  EXPECT_EQ(stream.frame.media->colour_matrix, "bt709");
  EXPECT_EQ(stream.frame.media->colour_range, "16-235");
}

TEST(CapsTable, MissingAndVariableFrameRatesAreFine) {
  EXPECT_FALSE(parse("video/x-raw,format=GRAY8,width=4,height=4").rate.known());
  EXPECT_FALSE(parse("video/x-raw,format=GRAY8,width=4,height=4,framerate=0/1").rate.known());
  EXPECT_EQ(
      parse("video/x-raw,format=GRAY8,width=4,height=4,framerate=240/1").rate, (Rate{240, 1}));
}

TEST(CapsTable, DefaultStridesAreThoseOfGStreamer) {
  struct Strides {
    const char *format, *as;
    int stride;
    size_t size;
  };
  const Strides cases[] = {
      {"RGB", "", 1924, 925444},
      {"GRAY8", "", 644, 309764},
      {"GRAY16_LE", "", 1284, 617604},
      {"NV12", "GRAY", 644, 465612}};
  for (const auto &each : cases) {
    SCOPED_TRACE(each.format);
    const std::string caps =
        std::string("video/x-raw,format=") + each.format + ",width=641,height=481";
    const auto stream = parse(caps.c_str(), each.as);
    EXPECT_EQ(stream.video.stride[0], each.stride);
    EXPECT_EQ(stream.video.size, each.size);
  }
}

TEST(CapsTable, RefusalsSayWhatToInsert) {
  EXPECT_THAT(
      refusal("video/x-raw,format=GRAY16_BE,width=4,height=4"),
      HasSubstr("got GRAY16_BE; insert \"videoconvert ! video/x-raw,format=GRAY16_LE\" "
                "before holoflowbin"));
  EXPECT_THAT(
      refusal("video/x-raw,format=NV12,width=4,height=4"),
      HasSubstr("got NV12; say \"as\": \"GRAY\" on the Input node to get the luma plane"));
  EXPECT_THAT(
      refusal("video/x-raw,format=YUY2,width=4,height=4", "GRAY"),
      HasSubstr("got YUY2; insert \"videoconvert ! video/x-raw,format=GRAY8\""));
  EXPECT_THAT(
      refusal("video/x-raw,format=GRAY8,width=4,height=4,interlace-mode=interleaved"),
      HasSubstr("expected progressive video, got interlace-mode=interleaved; insert "
                "\"deinterlace\""));
  EXPECT_THAT(
      refusal("video/x-raw(memory:CUDAMemory),format=NV12,width=4,height=4", "GRAY"),
      HasSubstr("insert \"cudadownload\""));
  EXPECT_THAT(refusal("video/x-h264"), HasSubstr("got video/x-h264; insert \"decodebin\""));
  EXPECT_THAT(
      refusal("video/x-raw,format=RGBA,width=32768,height=32768"), HasSubstr("smaller than 4 GiB"));
  EXPECT_THAT(
      refusal("video/x-raw,format=GRAY8,width=[1,4],height=4"), HasSubstr("expected fixed caps"));
}

TEST(CapsTable, ProgressiveIsAccepted) {
  EXPECT_EQ(
      refusal("video/x-raw,format=GRAY8,width=4,height=4,interlace-mode=progressive"), "accepted");
}

TEST(CapsTable, TensorCapsGiveShapeAndFrames) {
  const auto own = parse("application/x-holoflow-tensor,dtype=CF32,shape=(string)\"4,480,640\","
                         "framerate=5/1");
  EXPECT_EQ(own.buffer, host({4, 480, 640}, DType::CF32));
  EXPECT_EQ(own.frame, host({1, 480, 640}, DType::CF32));
  EXPECT_EQ(own.frames, 4u);
  EXPECT_EQ(own.rate, (Rate{20, 1}));
  const auto nnstreamer = parse("other/tensors,format=static,num_tensors=1,types=(string)float32,"
                                "dimensions=(string)3:640:480:1,framerate=30/1");
  EXPECT_EQ(nnstreamer.buffer, host({1, 480, 640, 3}, DType::F32));
  const auto flat = parse("application/x-holoflow-tensor,dtype=F32,shape=(string)\"1024\"");
  EXPECT_EQ(flat.frame, host({1024}, DType::F32));
  EXPECT_EQ(flat.frames, 1u);
}

TEST(CapsTable, FaultyTensorCapsAreRefused) {
  EXPECT_THAT(
      refusal("application/x-holoflow-tensor,dtype=F64,shape=(string)\"4\""),
      HasSubstr("expected dtype=U8, U16, F32 or CF32"));
  EXPECT_THAT(
      refusal("application/x-holoflow-tensor,dtype=F32,shape=(string)\"4,x\""),
      HasSubstr("expected shape as positive numbers separated by \",\", got \"4,x\""));
  EXPECT_THAT(
      refusal("application/x-holoflow-tensor,dtype=F32,shape=(string)\"4,0\""),
      HasSubstr("got \"4,0\""));
  EXPECT_THAT(
      refusal("application/x-holoflow-tensor,dtype=F32,"
              "shape=(string)\"4294967296,4294967296,16\""),
      HasSubstr("overflows"));
  EXPECT_THAT(
      refusal("other/tensors,format=static,num_tensors=2,types=(string)\"uint8,uint8\""),
      HasSubstr("num_tensors=1, got 2"));
  EXPECT_THAT(
      refusal("other/tensors,format=static,num_tensors=1,types=int64,"
              "dimensions=(string)4:1"),
      HasSubstr("expected types=uint8, uint16 or float32, got \"int64\""));
  EXPECT_THAT(
      refusal("application/x-holoflow-tensor,dtype=U8,shape=(string)\"1,4,4\"", "GRAY"),
      HasSubstr("leave \"as\" out"));
}

TEST(CapsTable, TensorsLeaveByShape) {
  EXPECT_EQ(output_layout(host({1, 48, 64}, DType::U8), 1, "").format, GST_VIDEO_FORMAT_GRAY8);
  EXPECT_EQ(output_layout(host({48, 64}, DType::U16), 1, "").format, GST_VIDEO_FORMAT_GRAY16_LE);
  EXPECT_EQ(output_layout(host({4, 48, 64, 3}, DType::U8), 4, "").format, GST_VIDEO_FORMAT_RGB);
  EXPECT_EQ(output_layout(host({1, 48, 64, 4}, DType::U8), 1, "").format, GST_VIDEO_FORMAT_RGBA);
  const auto spectrum = output_layout(host({1, 48, 64}, DType::CF32), 1, "");
  EXPECT_EQ(spectrum.kind, CapsRow::Kind::HoloflowTensor);
  EXPECT_EQ(
      to_text(output_caps(spectrum, nullptr, {30, 1})),
      "application/x-holoflow-tensor, dtype=(string)CF32, shape=(string)\"1\\,48\\,64\", "
      "framerate=(fraction)30/1");
}

TEST(CapsTable, FramesOfABatchLeaveOneByOne) {
  const auto layout = output_layout(host({4, 48, 64}, DType::F32), 4, "");
  EXPECT_EQ(layout.tensor, host({1, 48, 64}, DType::F32));
}

TEST(CapsTable, ATensorWithOneRecordLeavesWhole) {
  const auto layout = output_layout(host({4, 48, 64}, DType::U8), 1, "");
  EXPECT_EQ(layout.kind, CapsRow::Kind::HoloflowTensor);
  EXPECT_EQ(layout.tensor, host({4, 48, 64}, DType::U8));
}

TEST(CapsTable, TheAnnotationNamesThePixelFormatWhereItStillFits) {
  TDesc tensor = host({1, 48, 64, 4}, DType::U8);
  tensor.media.emplace().pixel_format = "BGRx";
  EXPECT_EQ(output_layout(tensor, 1, "").format, GST_VIDEO_FORMAT_BGRx);
  TDesc grey = host({1, 48, 64}, DType::U8);
  grey.media.emplace().pixel_format = "BGRx";
  EXPECT_EQ(output_layout(grey, 1, "").format, GST_VIDEO_FORMAT_GRAY8);
}

TEST(CapsTable, TheFormatParamChoosesTheLabel) {
  EXPECT_EQ(output_layout(host({1, 48, 64, 3}, DType::U8), 1, "BGR").format, GST_VIDEO_FORMAT_BGR);
  const auto nv12 = output_layout(host({1, 72, 64}, DType::U8), 1, "NV12");
  EXPECT_EQ(nv12.format, GST_VIDEO_FORMAT_NV12);
  EXPECT_EQ(nv12.height, 48u);
  EXPECT_TRUE(packed_is_default(nv12));
  const auto tensors = output_layout(host({1, 48, 64}, DType::F32), 1, "tensors");
  EXPECT_EQ(
      to_text(output_caps(tensors, nullptr, {})),
      "other/tensors, format=(string)static, num_tensors=(int)1, types=(string)float32, "
      "dimensions=(string)64:48:1, framerate=(fraction)0/1");
}

std::string output_refusal(const TDesc &tensor, size_t records, const char *format) {
  try {
    (void)output_layout(tensor, records, format);
  } catch (const CapsError &error) {
    return error.what();
  }
  return "accepted";
}

TEST(CapsTable, FormatsThatDoNotFitAreRefused) {
  EXPECT_THAT(
      output_refusal(host({1, 48, 64}, DType::F32), 1, "GRAY8"),
      HasSubstr("expected U8 [N, H, W] for \"format\": \"GRAY8\", got F32 [1, 48, 64]"));
  EXPECT_THAT(
      output_refusal(host({1, 48, 64}, DType::U8), 1, "GREY8"),
      HasSubstr("did you mean \"GRAY8\"?"));
  EXPECT_THAT(
      output_refusal(host({1, 48, 64}, DType::CF32), 1, "tensors"),
      HasSubstr("other/tensors has no complex type"));
  EXPECT_THAT(
      output_refusal(host({4, 48, 64}, DType::U8), 1, "GRAY8"),
      HasSubstr("expected one frame a buffer"));
}

TEST(CapsTable, PackedEqualsDefaultOnlyWhereRowsAreMultiplesOfFourBytes) {
  for (const size_t width : {1u, 3u, 4u, 64u, 641u}) {
    SCOPED_TRACE(width);
    EXPECT_EQ(
        packed_is_default(output_layout(host({1, 5, width}, DType::U8), 1, "")), width % 4 == 0);
    EXPECT_EQ(
        packed_is_default(output_layout(host({1, 5, width}, DType::U16), 1, "")), width % 2 == 0);
    EXPECT_EQ(
        packed_is_default(output_layout(host({1, 5, width, 3}, DType::U8), 1, "")), width % 4 == 0);
    EXPECT_TRUE(packed_is_default(output_layout(host({1, 5, width, 4}, DType::U8), 1, "")));
  }
}

TEST(CapsTable, AspectRatioAndColorimetryStayWhereTheyStillHold) {
  const auto from = parse("video/x-raw,format=RGB,width=64,height=48,pixel-aspect-ratio=4/3,"
                          "colorimetry=(string)1:1:5:1");
  const auto same =
      to_text(output_caps(output_layout(host({1, 48, 64, 3}, DType::U8), 1, ""), &from, {25, 1}));
  EXPECT_THAT(same, HasSubstr("pixel-aspect-ratio=(fraction)4/3"));
  EXPECT_THAT(same, HasSubstr("colorimetry=(string)1:1:5:1"));
  const auto grey =
      to_text(output_caps(output_layout(host({1, 48, 32}, DType::U8), 1, ""), &from, {25, 1}));
  EXPECT_THAT(grey, HasSubstr("pixel-aspect-ratio=(fraction)1/1"));
  EXPECT_THAT(grey, ::testing::Not(HasSubstr("1:1:5:1")));
}

TEST(CapsTable, GreyAndYuvAreTakenInThatOrder) {
  std::string names;
  for (const auto *row : input_rows("GRAY"))
    names += row->name() + " ";
  EXPECT_EQ(names, "GRAY8 GRAY16_LE NV12 I420 RGB BGR RGBA BGRA RGBx BGRx ");
  for (const auto *row : input_rows(""))
    EXPECT_FALSE(row->luma_of_yuv) << row->name();
}

}  // namespace
}  // namespace holoflow::gst
