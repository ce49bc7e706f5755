// SPDX-License-Identifier: LGPL-2.1-or-later
// BatchQueue: spec, and the Host implementation's copy of views.
#include <algorithm>
#include <stdexcept>

#include "holoflow/tasks/batch_queue/batch_queue_task.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

namespace {

using core::InferResult;
using core::TDesc;

void require_frames(const TDesc &input) {
  if (input.rank() < 3) {
    std::string shape = "1";
    for (size_t axis = input.rank(); axis < 2; ++axis)
      shape += ", 1";
    for (const size_t extent : input.shape)
      shape += ", " + std::to_string(extent);
    throw std::invalid_argument(
        "input 0: expected frames along axis 0 of a tensor of rank 3 or "
        "more, got " +
        core::to_string(input) + "; add a \"Reshape\" node (shape [" + shape + "]) before it");
  }
  if (input.shape[0] == 0)
    throw std::invalid_argument(
        "input 0: expected at least one frame along axis 0, got " + core::to_string(input));
  require_indexable({&input, 1});
}

InferResult infer_batch_queue(
    const InferContext &context, std::span<const TDesc> inputs, const nlohmann::json &params) {
  const TDesc &input = inputs[0];
  require_frames(input);
  const QueuePolicy policy = queue_policy(params);
  const auto size = params.at("output_size").get<size_t>();
  const nlohmann::json &stride_param = params.at("output_stride");
  const size_t stride = stride_param.is_null() ? size : stride_param.get<size_t>();
  const size_t depth = std::max(params.at("target_capacity").get<size_t>(), context.min_slots);
  const QueuePlan plan = plan_queue(policy, input.shape[0], size, stride, depth);

  std::vector<size_t> shape = input.shape;
  shape[0] = plan.ring.frames + plan.ring.repeated;
  const size_t ring_bytes = TDesc(shape, input.dtype, input.mem_loc).num_bytes();
  shape[0] = size;
  TDesc output(shape, input.dtype, input.mem_loc);
  output.media = input.media;
  if (output.media.has_value())
    output.media->records.reset();

  InferResult result;
  result.input_descs = {input};
  result.output_descs = {output};
  result.owned_inputs = {true};
  result.owned_outputs = {true};
  result.yields_ownership = true;
  result.hands_over_by_event = true;
  const bool copies_out = policy == QueuePolicy::DropOldest;
  result.const_outputs = {size > stride && !copies_out};
  result.own_memory = {{input.mem_loc, ring_bytes, "ring of frames"}};
  if (copies_out)
    result.own_memory.push_back({input.mem_loc, 2 * output.num_bytes(), "two copies of windows"});
  result.window =
      core::Window{input.shape[0], size, stride, plan.keep, policy != QueuePolicy::Block};
  result.writes_records = {true};
  return result;
}

TaskSpec batch_queue_spec() {
  TaskSpec spec;
  spec.type = "BatchQueue";
  spec.doc = "Collects frames and gives them out in windows; lets the two sides run independently.";
  spec.inputs = {{"frames", "n frames along axis 0"}};
  spec.outputs = {{"window", "output_size frames along axis 0"}};
  spec.params = {
      {.name = "target_capacity",
       .types = Int,
       .doc = "frames that fit, at least; more lets the two sides overlap more",
       .default_value = 4,
       .minimum = 1},
      {.name = "output_size",
       .types = Int,
       .doc = "frames per window",
       .default_value = 1,
       .minimum = 1},
      {.name = "output_stride",
       .types = Int | Null,
       .doc = "frames from window to window; null = output_size",
       .default_value = nullptr,
       .minimum = 1},
      {.name = "policy",
       .types = String,
       .doc = "what happens when the queue is full: its producer waits, the oldest windows "
              "give way, or what comes is dropped; windows always show consecutive frames",
       .default_value = "block",
       .choices = {"block", "drop-oldest", "drop-newest"}},
      {.name = "flush",
       .types = String,
       .doc = "what happens to an incomplete last window; pad repeats the last frame",
       .default_value = "drop",
       .choices = {"drop", "pad"}},
  };
  spec.infer = infer_batch_queue;
  spec.make_async = [](const MakeArgs<core::AsyncCreateCtx> &args) {
    return make_batch_queue(
        args, [](const TDesc &from_desc, const std::byte *from, std::byte *to, cudaStream_t) {
          copy_strided(from_desc, from, packed_like(from_desc), to);
        });
  };
  return spec;
}

}  // namespace

void register_batch_queue(core::Registry &registry) {
  register_spec(registry, batch_queue_spec());
}

}  // namespace holoflow::tasks
