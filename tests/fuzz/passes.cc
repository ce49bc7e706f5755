// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzzing: graphs and factories made of arbitrary bytes go through passes 1 to 6, 9 and the memory
// plan; whatever is accepted must hold every invariant.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/compiler/passes.hh"

namespace {

using namespace holoflow;
using core::InferResult;
using core::TDesc;

FuzzedDataProvider *bytes = nullptr;  // of the input being tried

size_t any_count(size_t usual) {
  return bytes->ConsumeIntegralInRange<size_t>(0, 15) == 0
      ? bytes->ConsumeIntegral<size_t>()
      : bytes->ConsumeIntegralInRange<size_t>(0, usual);
}

TDesc any_descriptor() {
  TDesc desc;
  const auto rank = bytes->ConsumeIntegralInRange<size_t>(0, 4);
  for (size_t axis = 0; axis < rank; ++axis)
    desc.shape.push_back(any_count(5));
  desc.dtype = static_cast<core::DType>(bytes->ConsumeIntegralInRange<int>(0, 4));
  desc.mem_loc = static_cast<core::MemLoc>(bytes->ConsumeIntegralInRange<int>(0, 2));
  if (bytes->ConsumeBool()) {
    for (size_t axis = 0; axis < rank; ++axis)
      desc.strides.push_back(any_count(64));
    desc.offset = any_count(64);
    return desc;
  }
  size_t stride = 8;
  desc.strides.resize(rank);
  for (size_t axis = rank; axis-- > 0;) {
    desc.strides[axis] = stride;
    if (__builtin_mul_overflow(stride, std::max<size_t>(desc.shape[axis], 1), &stride))
      stride = 8;
  }
  return desc;
}

std::vector<bool> any_mask(size_t slots) {
  if (bytes->ConsumeBool())
    return {};
  if (bytes->ConsumeIntegralInRange<int>(0, 31) == 0)
    slots += 1;
  std::vector<bool> mask;
  for (size_t i = 0; i < slots; ++i)
    mask.push_back(bytes->ConsumeIntegralInRange<int>(0, 3) == 0);
  return mask;
}

InferResult any_result(std::span<const TDesc> inputs, core::TaskKind kind) {
  switch (bytes->ConsumeIntegralInRange<int>(0, 60)) {
  case 0:
    throw std::invalid_argument("refused");
  case 1:
    throw 42;
  default:
    break;
  }
  InferResult result;
  result.kind = bytes->ConsumeIntegralInRange<int>(0, 60) == 0 ? core::TaskKind::Async : kind;
  result.input_descs.assign(inputs.begin(), inputs.end());
  if (bytes->ConsumeIntegralInRange<int>(0, 60) == 0)
    result.input_descs.push_back(any_descriptor());
  const auto outputs = bytes->ConsumeIntegralInRange<size_t>(0, 3);
  for (size_t i = 0; i < outputs; ++i)
    result.output_descs.push_back(
        !inputs.empty() && bytes->ConsumeBool() ? inputs[0] : any_descriptor());
  for (auto count = bytes->ConsumeIntegralInRange<int>(0, 2); count > 0; --count)
    result.in_place.push_back(
        {bytes->ConsumeIntegralInRange<int>(-1, 3), bytes->ConsumeIntegralInRange<int>(-1, 3),
         bytes->ConsumeBool(), bytes->ConsumeBool()});
  result.owned_inputs = any_mask(inputs.size());
  result.owned_outputs = any_mask(outputs);
  result.const_outputs = any_mask(outputs);
  result.optional_outputs = any_mask(outputs);
  result.writes_records = any_mask(outputs);
  result.synchronizes_producer_stream = bytes->ConsumeBool();
  result.yields_ownership = bytes->ConsumeBool();
  if (bytes->ConsumeBool())
    result.window = core::Window{any_count(4), any_count(4), any_count(4), any_count(8)};
  if (bytes->ConsumeBool())
    result.own_memory = {{core::MemLoc::Device, any_count(100), "something"}};
  if (!result.output_descs.empty() && bytes->ConsumeIntegralInRange<int>(0, 7) == 0) {
    result.output_descs[0].media.emplace();
    result.output_descs[0].media->records = any_count(4);
  }
  return result;
}

class AnySync final : public core::ISyncTaskFactory {
public:
  InferResult infer(std::span<const TDesc> inputs, const nlohmann::json &) const override {
    return any_result(inputs, core::TaskKind::Sync);
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const TDesc>, const nlohmann::json &, const core::SyncCreateCtx &) const override {
    return nullptr;
  }
};

class AnyAsync final : public core::IAsyncTaskFactory {
public:
  InferResult infer(std::span<const TDesc> inputs, const nlohmann::json &) const override {
    return any_result(inputs, core::TaskKind::Async);
  }
  std::unique_ptr<core::IAsyncTask> create(
      std::span<const TDesc>, const nlohmann::json &, const core::AsyncCreateCtx &) const override {
    return nullptr;
  }
};

core::Registry make_registry() {
  core::Registry registry;
  register_builtin_tasks(registry);
  registry.register_sync("S", std::make_unique<AnySync>());
  registry.register_async("A", std::make_unique<AnyAsync>());
  return registry;
}

core::GraphSpec any_graph() {
  static const char *const kinds[] = {"S",    "S",    "S",          "A",     "A",
                                      "Copy", "Sqrt", "BatchQueue", "Slice", "nope"};
  core::GraphSpec graph;
  const auto nodes = bytes->ConsumeIntegralInRange<int>(0, 12);
  for (int i = 0; i < nodes; ++i) {
    const auto name = bytes->ConsumeIntegralInRange<int>(0, 60) == 0 ? "0" : std::to_string(i);
    graph.add_node(name, kinds[bytes->ConsumeIntegralInRange<size_t>(0, std::size(kinds) - 1)]);
  }
  std::map<int, int> next_input;
  for (auto edges = bytes->ConsumeIntegralInRange<int>(0, 24); edges > 0 && nodes > 1; --edges) {
    auto from = bytes->ConsumeIntegralInRange<int>(0, nodes - 1);
    auto to = bytes->ConsumeIntegralInRange<int>(0, nodes - 1);
    if (from > to && bytes->ConsumeIntegralInRange<int>(0, 30) != 0)
      std::swap(from, to);
    const bool odd = bytes->ConsumeIntegralInRange<int>(0, 30) == 0;
    const auto in = odd ? bytes->ConsumeIntegralInRange<int>(-1, 4) : next_input[to]++;
    graph.connect(
        std::to_string(from), bytes->ConsumeIntegralInRange<int>(0, odd ? 3 : 1),
        std::to_string(to), in);
  }
  return graph;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static core::Registry registry = make_registry();
  FuzzedDataProvider provider(data, size);
  bytes = &provider;
  const auto graph = any_graph();
  runtime::CompilerConfig config;
  config.share_memory = provider.ConsumeBool();
  compiler::Plan plan;
  plan.spec = &graph;
  plan.registry = &registry;
  plan.config = &config;
  plan.compute_location = provider.ConsumeBool() ? core::MemLoc::Device : core::MemLoc::Host;
  compiler::validate(plan);
  compiler::build_plan(plan);
  compiler::infer_types(plan);
  if (!plan.faults.empty())
    return 0;
  compiler::assign_tensors(plan);
  compiler::map_storage(plan);
  compiler::check_ownership(plan);
  compiler::partition_sections(plan);
  if (!plan.faults.empty())
    return 0;
  compiler::plan_lag(plan);
  compiler::plan_memory(plan);
  compiler::verify(plan, false);
  compiler::explain(plan);
  return 0;
}
