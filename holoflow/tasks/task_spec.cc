// SPDX-License-Identifier: LGPL-2.1-or-later
// Factories made from specs: input checks, choice of the Host or Device implementation.
#include "holoflow/tasks/task_spec.hh"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::tasks {
namespace {

using core::DType;
using core::InferResult;
using core::MemLoc;
using core::TDesc;
using nlohmann::json;

/// "U8", "U8 or U16", "U8, U16 or F32".
std::string join_dtypes(const std::vector<DType> &dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes)
    names.emplace_back(to_string(dtype));
  return core::alternatives(names);
}

/// `input 0`, and its name too where there are several.
std::string slot_label(const TaskSpec &spec, size_t index) {
  std::string text = "input " + std::to_string(index);
  if (spec.inputs.size() > 1)
    text += " (\"" + spec.inputs[index].name + "\")";
  return text;
}

void check_input_count(const TaskSpec &spec, size_t count) {
  const auto required = static_cast<size_t>(std::count_if(
      spec.inputs.begin(), spec.inputs.end(), [](const SlotSpec &slot) { return !slot.optional; }));
  if (count >= required && count <= spec.inputs.size())
    return;
  std::string text = "expected ";
  if (spec.inputs.empty()) {
    text += "no inputs";
  } else if (required == spec.inputs.size()) {
    text += std::to_string(required) + (required == 1 ? " input" : " inputs");
  } else {
    text += std::to_string(required) + " to " + std::to_string(spec.inputs.size()) + " inputs";
  }
  text += ", got " + std::to_string(count) + "; ";
  if (count < required) {
    text += "connect a node to " + slot_label(spec, count);
  } else {
    text += "remove the edge to input " + std::to_string(spec.inputs.size());
  }
  throw core::Refusal(count < required ? core::Reason::MissingInput : core::Reason::BadEdge, text);
}

/// The element type worth converting to: F32 where the slot takes it, else its first one.
DType conversion_target(const std::vector<DType> &allowed) {
  const bool f32 = std::find(allowed.begin(), allowed.end(), DType::F32) != allowed.end();
  return f32 ? DType::F32 : allowed.front();
}

void check_input_dtypes(const TaskSpec &spec, std::span<const TDesc> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<DType> &allowed = spec.inputs[i].dtypes;
    if (allowed.empty())
      continue;
    if (std::find(allowed.begin(), allowed.end(), inputs[i].dtype) != allowed.end())
      continue;
    throw std::invalid_argument(
        slot_label(spec, i) + ": expected " + join_dtypes(allowed) + ", got " +
        to_string(inputs[i]) + "; add a \"Conversion\" node (target " +
        std::string(to_string(conversion_target(allowed))) + ") before it");
  }
}

bool touches_device(std::span<const TDesc> inputs, const InferResult &infer) {
  const auto on_device = [](const TDesc &desc) { return desc.mem_loc == MemLoc::Device; };
  return std::any_of(inputs.begin(), inputs.end(), on_device) ||
      std::any_of(infer.output_descs.begin(), infer.output_descs.end(), on_device);
}

/// The compiler refuses such outputs as broken contracts; here they are what a graph asked for.
void refuse_impossible(const InferResult &result, const json &params) {
  for (size_t i = 0; i < result.output_descs.size(); ++i) {
    const TDesc &output = result.output_descs[i];
    if (is_possible(output))
      continue;
    throw std::invalid_argument(
        "output " + std::to_string(i) + ": expected at most " +
        std::to_string(core::max_tensor_rank) + " axes and " +
        std::to_string(core::max_tensor_bytes) + " bytes, got " + to_string(output) +
        (params.empty() ? "" : " for the params " + core::show(params)) + "; use smaller frames" +
        (params.empty() ? "" : " or params"));
  }
}

/// A same-shape output whose spec says nothing about its axes means what input 0 means.
void inherit_media(std::span<const TDesc> inputs, InferResult &result) {
  if (inputs.empty())
    return;
  for (TDesc &output : result.output_descs)
    if (!output.media && output.shape == inputs[0].shape)
      output.media = inputs[0].media;
}

/// What both sorts of factories share.
class SpecHolder {
public:
  explicit SpecHolder(TaskSpec spec) : spec_(std::move(spec)) {}
  virtual ~SpecHolder() = default;

  [[nodiscard]] const TaskSpec &spec() const noexcept { return spec_; }

protected:
  [[nodiscard]] InferResult infer_complete(
      const InferContext &context, std::span<const TDesc> inputs, const json &params) const {
    check_input_count(spec_, inputs.size());
    check_input_dtypes(spec_, inputs);
    InferResult result = call_infer(context, inputs, params);
    refuse_impossible(result, params);
    if (result.input_descs.empty())
      result.input_descs.assign(inputs.begin(), inputs.end());
    result.owned_inputs.resize(inputs.size());
    result.owned_outputs.resize(result.output_descs.size());
    result.kind = spec_.make_async ? core::TaskKind::Async : core::TaskKind::Sync;
    inherit_media(inputs, result);
    return result;
  }

  template <typename Maker, typename CreateCtx>
  [[nodiscard]] auto make(
      const Maker &host_maker, const Maker &device_maker, const InferContext &context,
      std::span<const TDesc> inputs, const json &settings, const CreateCtx &ctx) const {
    const json params = complete_params(spec_, settings);
    const InferResult infer = infer_complete(context, inputs, params);
    const MakeArgs<CreateCtx> args{inputs, infer, params, ctx};
    if (!touches_device(inputs, infer))
      return host_maker(args);
    if (device_maker)
      return device_maker(args);
    if (spec_.host_maker_serves_device)
      return host_maker(args);
    throw core::DeviceError(
        "type \"" + spec_.type +
            "\" has no implementation for Device tensors: the CUDA module is not "
            "loaded or does not know the type; install libholoflow-cuda.so, compile "
            "for \"cpu\", or put a \"Download\" before the node",
        core::Reason::NoDevice);
  }

  /// Plain create() calls know the place of computing only by the device's index.
  [[nodiscard]] static InferContext context_of(int device) {
    InferContext context;
    if (device >= 0)
      context.compute_location = MemLoc::Device;
    return context;
  }

  /// Sizes that overflow are named by the numbers they come from.
  [[nodiscard]] InferResult call_infer(
      const InferContext &context, std::span<const TDesc> inputs, const json &params) const {
    try {
      return spec_.infer(context, inputs, params);
    } catch (const std::overflow_error &error) {
      throw std::invalid_argument(
          std::string(error.what()) + "; the params are " + core::show(params) +
          ", use smaller ones or smaller frames");
    }
  }

  TaskSpec spec_;
};

class SyncSpecFactory final : public core::ISyncTaskFactory,
                              public IContextualSyncFactory,
                              public SpecHolder {
public:
  using SpecHolder::SpecHolder;

  InferResult infer(std::span<const TDesc> inputs, const json &settings) const override {
    return infer_in(InferContext{}, inputs, settings);
  }
  InferResult infer_in(
      const InferContext &context, std::span<const TDesc> inputs,
      const json &settings) const override {
    return infer_complete(context, inputs, complete_params(spec_, settings));
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const TDesc> inputs, const json &settings,
      const core::SyncCreateCtx &ctx) const override {
    return create_in(context_of(ctx.device), inputs, settings, ctx);
  }
  std::unique_ptr<core::ISyncTask> create_in(
      const InferContext &context, std::span<const TDesc> inputs, const json &settings,
      const core::SyncCreateCtx &ctx) const override {
    return make(spec_.make_sync, device_maker, context, inputs, settings, ctx);
  }

  SyncMaker device_maker;
};

class AsyncSpecFactory final : public core::IAsyncTaskFactory,
                               public IContextualAsyncFactory,
                               public SpecHolder {
public:
  using SpecHolder::SpecHolder;

  InferResult infer(std::span<const TDesc> inputs, const json &settings) const override {
    return infer_in(InferContext{}, inputs, settings);
  }
  InferResult infer_in(
      const InferContext &context, std::span<const TDesc> inputs,
      const json &settings) const override {
    return infer_complete(context, inputs, complete_params(spec_, settings));
  }
  std::unique_ptr<core::IAsyncTask> create(
      std::span<const TDesc> inputs, const json &settings,
      const core::AsyncCreateCtx &ctx) const override {
    return create_in(context_of(ctx.device), inputs, settings, ctx);
  }
  std::unique_ptr<core::IAsyncTask> create_in(
      const InferContext &context, std::span<const TDesc> inputs, const json &settings,
      const core::AsyncCreateCtx &ctx) const override {
    return make(spec_.make_async, device_maker, context, inputs, settings, ctx);
  }

  AsyncMaker device_maker;
};

template <typename Factory>
Factory &factory_for_device(core::Registry &registry, const std::string &type) {
  auto *factory = dynamic_cast<Factory *>(&registry.get_mutable(type));
  if (factory == nullptr)
    throw std::out_of_range("type \"" + type + "\" was not registered from a spec of this kind");
  return *factory;
}

}  // namespace

bool is_possible(const TDesc &desc) noexcept {
  size_t end = 0;
  try {
    // Views may repeat elements, so these can be more than the bytes.
    return desc.rank() <= core::max_tensor_rank &&
        !__builtin_add_overflow(desc.offset, desc.num_bytes(), &end) &&
        end <= core::max_tensor_bytes && desc.num_elements() <= core::max_tensor_bytes;
  } catch (const std::overflow_error &) {
    return false;
  }
}

void register_spec(core::Registry &registry, TaskSpec spec) {
  if (static_cast<bool>(spec.make_sync) == static_cast<bool>(spec.make_async) || !spec.infer)
    throw std::invalid_argument(
        "spec of type \"" + spec.type +
        "\": expected infer and exactly one of make_sync and make_async");
  const std::string type = spec.type;
  if (spec.make_sync) {
    registry.register_sync(type, std::make_unique<SyncSpecFactory>(std::move(spec)));
  } else {
    registry.register_async(type, std::make_unique<AsyncSpecFactory>(std::move(spec)));
  }
}

const TaskSpec *find_spec(const core::Registry &registry, const std::string &type) {
  if (!registry.is_registered(type))
    return nullptr;
  const auto *holder = dynamic_cast<const SpecHolder *>(&registry.get(type));
  return holder != nullptr ? &holder->spec() : nullptr;
}

void add_device_maker(core::Registry &registry, const std::string &type, SyncMaker maker) {
  factory_for_device<SyncSpecFactory>(registry, type).device_maker = std::move(maker);
}

void add_device_maker(core::Registry &registry, const std::string &type, AsyncMaker maker) {
  factory_for_device<AsyncSpecFactory>(registry, type).device_maker = std::move(maker);
}

}  // namespace holoflow::tasks
