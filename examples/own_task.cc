// SPDX-License-Identifier: LGPL-2.1-or-later
// A task of your own in a few lines: an edge detector as a function, used in a graph beside
// built-in tasks, without GStreamer. Prints a small picture of what comes out.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/graph_runner.hh"

namespace {

using namespace holoflow;

constexpr size_t height = 12, width = 32;

/// Sobel's gradient magnitude of packed F32 frames [N, H, W] in Host memory; 0 at the rim.
void sobel(
    std::span<const core::TView> inputs, std::span<core::TView> outputs, const nlohmann::json &,
    cudaStream_t) {
  const auto *from = reinterpret_cast<const float *>(inputs[0].data());
  auto *to = reinterpret_cast<float *>(outputs[0].data());
  const auto &shape = inputs[0].desc.shape;
  for (size_t n = 0; n < shape[0]; ++n, from += shape[1] * shape[2], to += shape[1] * shape[2])
    for (size_t y = 0; y < shape[1]; ++y)
      for (size_t x = 0; x < shape[2]; ++x) {
        const auto at = [&](size_t row, size_t column) { return from[row * shape[2] + column]; };
        float &result = to[y * shape[2] + x];
        result = 0;
        if (y == 0 || x == 0 || y + 1 == shape[1] || x + 1 == shape[2])
          continue;
        const float dx = at(y - 1, x + 1) + 2 * at(y, x + 1) + at(y + 1, x + 1) - at(y - 1, x - 1) -
            2 * at(y, x - 1) - at(y + 1, x - 1);
        const float dy = at(y + 1, x - 1) + 2 * at(y + 1, x) + at(y + 1, x + 1) - at(y - 1, x - 1) -
            2 * at(y - 1, x) - at(y - 1, x + 1);
        result = std::sqrt(dx * dx + dy * dy);
      }
}

/// A bright square on a dark ground that moves with each frame.
std::vector<uint8_t> square(size_t frame) {
  std::vector<uint8_t> picture(height * width, 20);
  for (size_t y = 3; y < 9; ++y)
    for (size_t x = 4 + 6 * frame; x < 12 + 6 * frame; ++x)
      picture[y * width + x] = 220;
  return picture;
}

void print(const runtime::OutputTensor &frame) {
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x)
      std::putchar(std::to_integer<int>(frame.data()[y * width + x]) > 100 ? '#' : '.');
    std::putchar('\n');
  }
  std::putchar('\n');
}

}  // namespace

int main() {
  core::Registry registry;
  register_builtin_tasks(registry);
  core::add_kernel(registry, "Sobel", sobel);

  const core::TDesc frame({1, height, width}, core::DType::U8, core::MemLoc::Host);
  auto runner = runtime::GraphRunner::from_chain(
      "conversion target=F32 ! sobel ! conversion target=U8 strategy=Scaled",
      {.inputs = {{"input", frame}}}, &registry);
  for (size_t i = 0; i < 3; ++i) {
    const auto picture = square(i);
    runner.push("input", picture.data(), frame);
    if (const auto result = runner.pop("output"))
      print(*result);
  }
  runner.end();
  return 0;
}
