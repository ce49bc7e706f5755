// SPDX-License-Identifier: LGPL-2.1-or-later
// SlidingAverage and CausalSlidingAverage: specs, and the mean on Host.
#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/common/queue.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tasks/sliding/sliding_task.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::InferResult;
using core::TDesc;

void require_frames(std::span<const TDesc> inputs) {
  require_indexable(inputs);
  const size_t frames = frame_count(inputs[0]);
  if (frames == 0 || frames > most_frames)
    throw std::invalid_argument(
        "input 0: expected at least one frame, got " + core::to_string(inputs[0]));
  if (inputs.size() < 2)
    return;
  require_same_location(inputs);
  const TDesc &valid = inputs[1];
  const size_t flags = valid.num_elements();
  if ((flags != 1 && flags != frames) || !core::is_packed(valid))
    throw std::invalid_argument(
        "input 1: expected one packed flag or " + std::to_string(frames) +
        ", one per frame of input 0, got " + core::to_string(valid) +
        "; add a \"Copy\" or \"Slice\" node before it");
}

core::MemoryNeed ring_of(const TDesc &input, size_t frames) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(frames, frame_bytes(input), &bytes) ||
      bytes > std::numeric_limits<size_t>::max() / 4)
    throw std::overflow_error(
        "input 0: " + std::to_string(frames) + " frames of " + core::to_string(input) +
        " are too many bytes; use a smaller window_size");
  return {input.mem_loc, bytes, "ring of frames"};
}

InferResult infer_causal(std::span<const TDesc> inputs, const nlohmann::json &params) {
  require_frames(inputs);
  const TDesc &input = inputs[0];
  InferResult result = elementwise_result(inputs, like_input(input));
  result.capturable = false;  // it counts frames
  result.own_memory = {ring_of(input, frames_param(params, "window_size"))};
  return result;
}

InferResult infer_sliding(
    const InferContext &context, std::span<const TDesc> inputs, const nlohmann::json &params) {
  require_frames(inputs);
  const TDesc &input = inputs[0];
  const size_t frames = frame_count(input);
  const size_t window = frames_param(params, "window_size");
  const size_t discarded = frames_param(params, "discard_first");
  const size_t slots = average_slots(frames, window, context.min_slots);
  std::vector<size_t> shape = input.shape;
  if (shape.size() >= 3)
    shape[0] = 1;
  TDesc output(shape, input.dtype, input.mem_loc);
  output.media = input.media;
  if (output.media.has_value())
    output.media->records.reset();
  InferResult result;
  result.kind = core::TaskKind::Async;
  result.hands_over_by_event = true;
  result.input_descs.assign(inputs.begin(), inputs.end());
  result.output_descs = {output};
  result.own_memory = {ring_of(input, slots)};
  // How many frames `valid` leaves out is known to nobody: they count as dropped ones.
  result.window = core::Window{
      .frames_in = frames,
      .size = window,
      .stride = 1,
      .capacity = slots,
      .drops = inputs.size() > 1,
      .delay = discarded};
  result.writes_records = {true};
  return result;
}

// Blocks of elements, so that the sums stay in the cache while the frames pass by.
void mean_on_host(const RingFrames &frames, float *mean, cudaStream_t) {
  std::array<double, 512> sums;
  const auto count = static_cast<double>(frames.count);
  for (size_t begin = 0; begin < frames.elements; begin += sums.size()) {
    const size_t width = std::min(sums.size(), frames.elements - begin);
    std::fill_n(sums.begin(), width, 0.0);
    for (size_t i = 0; i < frames.count; ++i) {
      const float *frame =
          frames.ring + (frames.first + i) % frames.slots * frames.elements + begin;
      for (size_t k = 0; k < width; ++k)
        sums[k] += static_cast<double>(frame[k]);
    }
    for (size_t k = 0; k < width; ++k)
      mean[begin + k] = static_cast<float>(sums[k] / count);
  }
}

AverageOps host_ops() {
  return {
      [](const TDesc &from_desc, const std::byte *from, std::byte *to, cudaStream_t) {
        copy_strided(from_desc, from, packed_like(from_desc), to);
      },
      mean_on_host};
}

ParamSpec window_size() {
  return {.name = "window_size", .types = Int, .doc = "frames of a mean", .minimum = 1};
}

}  // namespace

void register_sliding(core::Registry &registry) {
  TaskSpec causal;
  causal.type = "CausalSlidingAverage";
  causal.doc = "For each frame the mean of it and those before it, at most window_size; the first "
               "means have fewer.";
  causal.inputs = {{"frames", "n frames along axis 0, or one", {DType::F32}}};
  causal.outputs = {{"means", "same shape, packed"}};
  causal.params = {window_size()};
  causal.infer = without_context(infer_causal);
  causal.make_sync = [](const MakeArgs<core::SyncCreateCtx> &args) {
    return make_causal_average(args, host_ops());
  };
  register_spec(registry, std::move(causal));

  TaskSpec sliding;
  sliding.type = "SlidingAverage";
  sliding.doc = "The mean of each window_size frames in a row; nothing comes before the first of "
                "them are there.";
  sliding.inputs = {
      {"frames", "n frames along axis 0, or one", {DType::F32}},
      {"valid", "one flag, or one per frame: frames with 0 are left out", {DType::U8}, true}};
  sliding.outputs = {{"mean", "one frame, packed"}};
  sliding.params = {
      window_size(),
      {.name = "discard_first",
       .types = Int,
       .doc = "valid frames at the beginning that are left out",
       .default_value = 0,
       .minimum = 0}};
  sliding.infer = infer_sliding;
  sliding.make_async = [](const MakeArgs<core::AsyncCreateCtx> &args) {
    return make_sliding_average(args, host_ops());
  };
  register_spec(registry, std::move(sliding));
}

}  // namespace holoflow::tasks
