// SPDX-License-Identifier: LGPL-2.1-or-later
// RateLimiter: spec.
#include "holoflow/tasks/rate_limiter/rate_limiter_task.hh"

#include <algorithm>
#include <stdexcept>

#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

namespace {

using core::TDesc;

bool drops_tensors(const nlohmann::json &params) {
  return params.at("policy").get<std::string>() == "drop";
}

// Rates below one tensor in a century are not told apart.
std::chrono::nanoseconds period_of(double max_fps) {
  constexpr double longest = 3.0e18;
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(1e9 / max_fps, longest)));
}

core::InferResult infer_rate_limiter(
    const InferContext &context, std::span<const TDesc> inputs, const nlohmann::json &params) {
  const bool drops = drops_tensors(params);
  const TDesc &input = inputs[0];
  const size_t frames = frame_count(input);
  if (frames == 0)
    throw std::invalid_argument(
        "input 0: expected at least one frame along axis 0, got " + core::to_string(input));
  core::InferResult result;
  result.input_descs = {input};
  result.output_descs = {input};  // the same slots, so the same strides and offset
  result.owned_inputs = {true};
  result.owned_outputs = {true};
  result.yields_ownership = true;
  result.hands_over_by_event = true;
  const size_t slots = limiter_slots(input, context.min_slots, drops);
  size_t bytes = 0;
  if (__builtin_mul_overflow(slots, input.offset + input.num_bytes(), &bytes))
    throw std::overflow_error(
        std::to_string(slots) + " slots for " + core::to_string(input) + " are too many bytes");
  result.own_memory = {
      {input.mem_loc, bytes, slots == 2 ? "two slots" : std::to_string(slots) + " slots"}};
  result.window = core::Window{
      .frames_in = frames,
      .size = frames,
      .stride = frames,
      .capacity = slots * frames,
      .drops = drops,
      .thins = drops};
  result.writes_records = {true};
  return result;
}

}  // namespace

size_t limiter_slots(const TDesc &tensor, size_t min_frames, bool drops) {
  // One is read, one waits, one is written: more would only make the newest wait.
  if (drops)
    return 3;
  const size_t frames = frame_count(tensor);
  return std::max<size_t>(2, (min_frames + frames - 1) / frames);
}

void register_rate_limiter(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "RateLimiter";
  spec.doc = "Lets at most max_fps tensors a second through.";
  spec.inputs = {{"tensor", "any tensor"}};
  spec.outputs = {{"tensor", "the same"}};
  spec.params = {
      {.name = "max_fps",
       .types = Number,
       .doc = "tensors per second, at most",
       .minimum = 0.0,
       .exclusive_minimum = true},
      {.name = "policy",
       .types = String,
       .doc = "block makes the producer wait; drop keeps the newest tensor and counts the others",
       .default_value = "block",
       .choices = {"block", "drop"}},
  };
  spec.infer = infer_rate_limiter;
  spec.make_async = [](const MakeArgs<core::AsyncCreateCtx> &args) {
    runtime::Device &device =
        args.ctx.device >= 0 ? runtime::cuda_device(args.ctx.device) : runtime::host_device();
    return std::make_unique<RateLimiterTask>(
        args.inputs[0], period_of(args.params.at("max_fps").get<double>()),
        drops_tensors(args.params), args.ctx, device);
  };
  // Slots come and are copied through the device seam alone.
  spec.host_maker_serves_device = true;
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
