// SPDX-License-Identifier: LGPL-2.1-or-later
// DualReaderBatchQueue: spec, and the Host implementation's copy of views.
#include "holoflow/tasks/dual_reader/dual_reader_task.hh"

#include <algorithm>
#include <stdexcept>

#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/common/queue.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

namespace {

using core::InferResult;
using core::TDesc;

InferResult infer_dual_reader(
    const InferContext &context, std::span<const TDesc> inputs, const nlohmann::json &params) {
  require_indexable(inputs);
  const TDesc &input = inputs[0];
  if (frame_count(input) != 1)
    throw std::invalid_argument(
        "input 0: expected one frame, [1, …], got " + core::to_string(input) +
        "; add a \"BatchQueue\" node before it, which gives one at a time");
  const size_t window = frames_param(params, "window_size");
  const size_t capacity = std::max(frames_param(params, "target_capacity"), context.min_slots);
  const size_t frames = capacity + reader_delay(window) + 1;
  size_t bytes = 0;
  if (__builtin_mul_overflow(frames, frame_bytes(input), &bytes))
    throw std::overflow_error(
        "input 0: " + std::to_string(frames) + " frames of " + core::to_string(input) +
        " are too many bytes; use a smaller window_size");
  TDesc output = like_input(input);
  InferResult result;
  result.kind = core::TaskKind::Async;
  result.hands_over_by_event = true;
  result.input_descs = {input};
  result.output_descs = {output, output, TDesc({1}, core::DType::U8, input.mem_loc)};
  result.optional_outputs = {false, false, true};
  result.own_memory = {{input.mem_loc, bytes, "ring of frames"}};
  result.window = core::Window{1, 1, 1, capacity};
  result.writes_records = {true, true, true};
  return result;
}

}  // namespace

void register_dual_reader(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "DualReaderBatchQueue";
  spec.doc = "Gives each frame together with an earlier one: the middle of the window_size frames "
             "that end with it.";
  spec.inputs = {{"frame", "one frame"}};
  spec.outputs = {
      {"current", "the frame, packed"},
      {"delayed",
       "the frame (window_size − 1) / 2 before it, rounded down; zeros at the beginning"},
      {"valid", "U8 [1]: 1 once window_size frames have come", {}, true}};
  spec.params = {
      {.name = "target_capacity",
       .types = Int,
       .doc = "frames that fit, at least",
       .default_value = 4,
       .minimum = 1},
      {.name = "window_size",
       .types = Int,
       .doc =
           "frames of the window, the delay being (window_size − 1) / 2: 3 gives the frame before, "
           "5 the one before that; 1 and 2 give the frame twice",
       .minimum = 1}};
  spec.infer = infer_dual_reader;
  spec.make_async = [](const MakeArgs<core::AsyncCreateCtx> &args) {
    return make_dual_reader(
        args, [](const TDesc &from_desc, const std::byte *from, std::byte *to, cudaStream_t) {
          copy_strided(from_desc, from, packed_like(from_desc), to);
        });
  };
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
