// SPDX-License-Identifier: LGPL-2.1-or-later
// Specs of Input and Output.
#include <limits>
#include <stdexcept>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tasks/input_output/input_task.hh"
#include "holoflow/tasks/input_output/output_task.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

namespace {

using core::InferResult;
using core::MemLoc;
using core::TDesc;

runtime::Device &device_of(int index) {
  return index >= 0 ? runtime::cuda_device(index) : runtime::host_device();
}

bool flag(const std::vector<bool> &flags, bool otherwise) {
  return flags.empty() ? otherwise : flags[0];
}

const TDesc &configured_tensor(const InferContext &context) {
  if (context.graph_inputs != nullptr) {
    const auto found = context.graph_inputs->find(context.node_name);
    if (found != context.graph_inputs->end())
      return found->second;
  }
  const auto name = core::quote(context.node_name);
  throw core::Refusal(
      core::Reason::MissingTensor,
      "expected the tensor that one push brings for " + name +
          ", got none; holoflowbin takes it from its caps, a program sets Config::inputs[" + name +
          "]");
}

// "as" promises a layout; the application (holoflowbin, Config::inputs) has to bring it.
void check_as(const nlohmann::json &as, const TDesc &tensor) {
  if (as.is_null() || as == "TENSOR")
    return;
  const std::string wanted = as.get<std::string>();
  if (wanted == "YUV")
    throw ParamError(
        "/as",
        "\"as\": \"YUV\" is not available yet; use \"GRAY\" for the luma plane, "
        "or convert to RGB before the graph");
  const size_t channels = wanted == "GRAY" ? 1 : wanted == "RGB" ? 3 : 4;
  const bool fits =
      channels == 1 ? tensor.rank() == 3 : tensor.rank() == 4 && tensor.shape[3] == channels;
  if (!fits)
    throw std::invalid_argument(
        "expected [N, H, W" + (channels == 1 ? "" : ", " + std::to_string(channels)) +
        "] for \"as\": \"" + wanted + "\", got " + core::to_string(tensor) +
        "; change \"as\" or what Config::inputs says of this node");
}

/// What is a picture: what caps, a file's format or "as" call one, and levels of rank 4 that come
/// without a word on their axes, from a .npy file or a program.
void annotate_channels(TDesc &tensor, const nlohmann::json &as) {
  if (as == "TENSOR") {
    if (tensor.media)
      tensor.media = core::MediaInfo{.records = tensor.media->records};
    return;
  }
  const bool known =
      tensor.media && (tensor.media->channel_axis || !tensor.media->pixel_format.empty());
  const bool levels = tensor.dtype == core::DType::U8 || tensor.dtype == core::DType::U16;
  if (known || tensor.rank() != 4 || (tensor.shape[3] != 3 && tensor.shape[3] != 4) ||
      (as.is_null() && !levels))
    return;
  if (!tensor.media)
    tensor.media.emplace();
  tensor.media->channel_axis = 3;
}

InferResult infer_input(
    const InferContext &context, std::span<const TDesc>, const nlohmann::json &params) {
  const TDesc &one = configured_tensor(context);
  check_as(params.at("as"), one);
  if (one.mem_loc != MemLoc::Host)
    throw std::invalid_argument(
        "expected a tensor on Host, got " + core::to_string(one) +
        "; frames enter in Host memory, add an \"Upload\" node behind");
  if (one.num_elements() == 0)
    throw std::invalid_argument(
        "expected a tensor of at least one element, got " + core::to_string(one) +
        "; change what Config::inputs says of this node");
  const auto batch = params.at("batch").get<size_t>();
  if (batch > 1 && one.rank() < 3)
    throw std::invalid_argument(
        "expected frames of rank 3 or more for \"batch\": " + std::to_string(batch) + ", got " +
        core::to_string(one) + "; give it a frame axis, [1, …]");
  TDesc tensor = packed_like(one);
  if (batch > 1) {
    if (one.shape[0] > std::numeric_limits<size_t>::max() / batch)
      throw std::overflow_error("\"batch\": " + std::to_string(batch) + " overflows the tensor");
    std::vector<size_t> shape = one.shape;
    shape[0] *= batch;
    tensor = TDesc(shape, one.dtype, MemLoc::Host);
    tensor.media = one.media;
  }
  annotate_channels(tensor, params.at("as"));
  if (frame_count(tensor) == 0)
    throw std::invalid_argument("expected at least one frame, got " + core::to_string(tensor));
  InferResult result;
  result.output_descs = {tensor};
  result.owned_outputs = {true};
  result.yields_ownership = true;
  result.hands_over_by_event = true;
  result.const_outputs = {true};
  result.writes_records = {true};
  const size_t slots = context.compute_location == MemLoc::Device ? InputTask::enough_slots : 1;
  result.own_memory = {
      {MemLoc::Host, slots * tensor.num_bytes(), "slots for frames that are copied, at most"}};
  return result;
}

TaskSpec input_spec() {
  TaskSpec spec;
  spec.type = "Input";
  spec.doc = "Where frames enter the graph.";
  spec.outputs = {{"frames", "the pushed frames, packed: [N, H, W] or [N, H, W, C]"}};
  spec.params = {
      {.name = "caps",
       .types = String | Null,
       .doc = "restricts what holoflowbin accepts, as GStreamer caps",
       .default_value = nullptr},
      {.name = "as",
       .types = String | Null,
       .doc = "what pictures become; TENSOR = no pictures, however they come; null = as they come",
       .default_value = nullptr,
       .choices = {"GRAY", "RGB", "RGBA", "YUV", "TENSOR"}},
      {.name = "batch",
       .types = Int,
       .doc =
           "pushes per tensor: multiplies the frames of what Config::inputs or the caps say; the "
           "last batch is padded with its last frame",
       .default_value = 1,
       .minimum = 1},
  };
  spec.infer = infer_input;
  spec.make_sync = [](const MakeArgs<core::SyncCreateCtx> &args) {
    return std::make_unique<InputTask>(
        args.infer.output_descs[0], flag(args.ctx.owned_outputs, true), device_of(args.ctx.device),
        args.ctx.stream);
  };
  return spec;
}

InferResult infer_output(
    const InferContext &, std::span<const TDesc> inputs, const nlohmann::json &) {
  const TDesc &input = inputs[0];
  if (input.mem_loc == MemLoc::Device)
    throw std::invalid_argument(
        "input 0: expected a tensor on Host, got " + core::to_string(input) +
        "; add a \"Download\" node before it");
  InferResult result;
  result.input_descs = {input};
  result.owned_inputs = {true};
  result.yields_ownership = true;
  result.hands_over_by_event = true;
  result.own_memory = {
      {MemLoc::Host, 2 * (input.offset + input.num_bytes()),
       "slots lent to the application, at first"}};
  return result;
}

TaskSpec output_spec() {
  TaskSpec spec;
  spec.type = "Output";
  spec.doc = "Where tensors leave the graph.";
  spec.inputs = {{"tensor", "what leaves, in Host memory"}};
  spec.params = {
      {.name = "format",
       .types = String | Null,
       .doc = "what holoflowbin makes of it: a GStreamer pixel format or \"tensors\"; "
              "null = by shape",
       .default_value = nullptr}};
  spec.infer = infer_output;
  spec.make_sync = [](const MakeArgs<core::SyncCreateCtx> &args) {
    const auto &bytes = args.ctx.owned_input_bytes;
    return std::make_unique<OutputTask>(
        args.inputs[0], flag(args.ctx.owned_inputs, true), bytes.empty() ? 0 : bytes[0],
        device_of(args.ctx.device));
  };
  return spec;
}

}  // namespace

void register_input_output(core::Registry &registry) {
  register_spec(registry, input_spec());
  register_spec(registry, output_spec());
}

}  // namespace holoflow::tasks
