// SPDX-License-Identifier: LGPL-2.1-or-later
// Every graph of examples/ and every graph shown in docs/ compiles and runs on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>
#include <thread>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/graph_runner.hh"

namespace {

using namespace holoflow;
namespace fs = std::filesystem;

fs::path root() {
  const char *folder = std::getenv("HOLOFLOW_SOURCE_ROOT");
  return folder != nullptr ? fs::path(folder) : fs::current_path();
}

std::string text_of(const fs::path &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The text between ```json and ``` of a page, block by block.
std::vector<std::string> json_blocks(const std::string &page) {
  std::vector<std::string> blocks;
  const std::string open = "```json\n", close = "```";
  for (size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    blocks.push_back(page.substr(at, page.find(close, at) - at));
  }
  return blocks;
}

/// Frames after which the queues of the graph have given `count` windows.
int frames_for(const core::GraphSpec &spec, int count) {
  for (const auto &node : spec.nodes) {
    if (node.kind != "BatchQueue" || !node.settings.is_object())
      continue;
    const int size = node.settings.value("output_size", 1);
    count = (count - 1) * node.settings.value("output_stride", size) + size;
  }
  return count;
}

/// Grey frames in, ten tensors out.
void runs(const std::string &json) {
  const auto spec = core::GraphSpec::from_json(json);
  const core::TDesc frame({1, 48, 64}, core::DType::U8, core::MemLoc::Host);
  runtime::CompilerConfig config{.device = runtime::CompilerConfig::Device::Cpu};
  std::string input, output;
  for (const auto &node : spec.nodes) {
    if (node.kind == "Input")
      config.inputs[input = node.name] = frame;
    if (node.kind == "Output")
      output = node.name;
  }
  auto runner = runtime::GraphRunner::from_json(json, config);
  const std::vector<uint8_t> pixels(frame.num_bytes(), 77);
  std::jthread feeder([&] {
    for (int i = frames_for(spec, 10); i > 0; --i)
      EXPECT_TRUE(runner.push(input, pixels.data(), frame));
    runner.end();
  });
  int count = 0;
  while (runner.pop(output))
    ++count;
  EXPECT_EQ(count, 10);
}

TEST(Examples, EveryGraphRuns) {
  int graphs = 0;
  for (const auto &entry : fs::directory_iterator(root() / "examples" / "graphs")) {
    SCOPED_TRACE(entry.path().filename().string());
    ASSERT_NO_THROW(runs(text_of(entry.path())));
    ++graphs;
  }
  EXPECT_GE(graphs, 7);
}

constexpr int pixel_count = 6 * 7;
constexpr int window_size = 64;

/// Frame t of pixels that flicker, each at a pace and a strength of its own.
std::vector<uint8_t> flicker(int t) {
  std::vector<uint8_t> frame;
  for (int i = 0; i < pixel_count; ++i) {
    const double phase = 2 * std::numbers::pi * t * i / 97;
    frame.push_back(static_cast<uint8_t>(std::lround(100 + 2 * i * std::cos(phase))));
  }
  return frame;
}

/// The doppler graph by plain loops in double: mean of |X[k]|² of the bins 4 … 32 of each pixel's
/// last 64 values, then the range of all pixels stretched to 0 … 255.
std::vector<double> doppler_reference(int first_frame) {
  std::vector<std::vector<uint8_t>> frames;
  for (int t = 0; t < window_size; ++t)
    frames.push_back(flicker(first_frame + t));
  std::vector<double> power(pixel_count, 0);
  for (int i = 0; i < pixel_count; ++i)
    for (int k = 4; k <= window_size / 2; ++k) {
      std::complex<double> sum;
      for (int t = 0; t < window_size; ++t)
        sum += std::polar<double>(
            frames[t][i], -2 * std::numbers::pi * (k * t % window_size) / window_size);
      power[i] += std::norm(sum) / (window_size / 2 - 3);
    }
  const auto [lo, hi] = std::minmax_element(power.begin(), power.end());
  std::vector<double> grey;
  for (const double value : power)
    grey.push_back((value - *lo) * 255 / (*hi - *lo));
  return grey;
}

using Device = runtime::CompilerConfig::Device;

/// What the graph makes of frames that flicker.
std::vector<std::vector<int>> pictures_of(
    const std::string &graph, int frame_count, Device device = Device::Cpu) {
  const core::TDesc frame({1, 6, 7}, core::DType::U8, core::MemLoc::Host);
  std::vector<std::vector<uint8_t>> frames;  // lent to the runner, so they outlive it
  for (int t = 0; t < frame_count; ++t)
    frames.push_back(flicker(t));
  auto runner = runtime::GraphRunner::from_file(
      root() / "examples" / "graphs" / graph, {.device = device, .inputs = {{"in", frame}}});
  std::jthread feeder([&] {
    for (const std::vector<uint8_t> &pixels : frames)
      EXPECT_TRUE(runner.push("in", pixels.data(), frame));
    runner.end();
  });
  std::vector<std::vector<int>> pictures;
  while (const auto image = runner.pop("out")) {
    EXPECT_EQ(image->desc().shape, frame.shape);
    EXPECT_EQ(image->desc().dtype, core::DType::U8);
    EXPECT_EQ(image->records().size(), 1u);
    auto &values = pictures.emplace_back();
    for (size_t i = 0; i < image->desc().num_bytes(); ++i)
      values.push_back(std::to_integer<int>(image->data()[i]));
  }
  return pictures;
}

/// `reference(n)` is the n-th picture, before it was rounded.
template <typename Reference>
void expect_pictures(
    const std::vector<std::vector<int>> &pictures, size_t count, Reference reference) {
  ASSERT_EQ(pictures.size(), count);
  for (size_t n = 0; n < count; ++n) {
    SCOPED_TRACE("picture " + std::to_string(n));
    const std::vector<double> want = reference(static_cast<int>(n));
    ASSERT_EQ(pictures[n].size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(pictures[n][i], want[i], 0.51) << "pixel " << i;
  }
}

void check_doppler(Device device) {
  expect_pictures(pictures_of("doppler.json", window_size + 2 * 32, device), 3, [](int n) {
    return doppler_reference(n * 32);
  });
}

TEST(Examples, DopplerShowsWhatPlainLoopsCompute) {
  check_doppler(Device::Cpu);
}
TEST(Examples, DopplerShowsWhatPlainLoopsComputeOnCuda) {
  try {
    (void)runtime::cuda_device();
  } catch (const core::DeviceError &error) {
    GTEST_SKIP() << error.what();
  }
  check_doppler(Device::Cuda);
}

TEST(Examples, DifferenceIsThatOfEachFrameAndTheOneBefore) {
  expect_pictures(pictures_of("difference.json", 40), 39, [](int n) {
    const std::vector<uint8_t> older = flicker(n), newer = flicker(n + 1);
    std::vector<double> sizes;
    for (size_t i = 0; i < newer.size(); ++i)
      sizes.push_back(std::abs(newer[i] - older[i]));
    return sizes;
  });
}

TEST(Examples, BackgroundIsTheMeanOfTheFramesThatEndWithThisOne) {
  constexpr int window = 16;
  expect_pictures(pictures_of("background.json", 40), 40 - window + 1, [](int n) {
    std::vector<double> sizes(pixel_count, 0);
    for (int t = n; t < n + window; ++t)
      for (int i = 0; i < pixel_count; ++i)
        sizes[i] += flicker(t)[i] / static_cast<double>(window);
    for (int i = 0; i < pixel_count; ++i)
      sizes[i] = std::abs(flicker(n + window - 1)[i] - sizes[i]);
    return sizes;
  });
}

TEST(Examples, EveryGraphInTheDocsRuns) {
  if (!fs::exists(root() / "docs"))
    GTEST_SKIP() << "no docs beside this program";
  int graphs = 0;
  for (const auto &entry : fs::directory_iterator(root() / "docs")) {
    if (entry.path().extension() != ".md")
      continue;
    for (const auto &block : json_blocks(text_of(entry.path()))) {
      SCOPED_TRACE(entry.path().filename().string());
      ASSERT_NO_THROW(runs(block));
      ++graphs;
    }
  }
  EXPECT_GE(graphs, 1);
}

}  // namespace
