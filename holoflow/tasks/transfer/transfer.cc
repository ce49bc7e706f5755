// SPDX-License-Identifier: LGPL-2.1-or-later
// Upload, Download, Memcpy and Copy: specs and the Host task behind all four.
#include <stdexcept>

#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

namespace {

using core::InferResult;
using core::MemLoc;
using core::TDesc;

class HostCopyTask final : public core::ISyncTask {
public:
  core::OpResult execute(core::SyncCtx &ctx) override {
    const core::TView &from = ctx.inputs[0];
    core::TView &to = ctx.outputs[0];
    // The same memory where the compiler kept the alias of an Upload or Download.
    if (from.data() != to.data())
      copy_strided(from.desc, from.data(), to.desc, to.data());
    return core::OpResult::Ok;
  }
};

TDesc packed_at(const TDesc &desc, MemLoc mem_loc) {
  TDesc packed = packed_like(desc);
  packed.mem_loc = mem_loc;
  return packed;
}

InferResult copy_to(const TDesc &input, MemLoc mem_loc) {
  require_indexable({&input, 1});
  InferResult result;
  result.input_descs = {input};
  result.output_descs = {packed_at(input, mem_loc)};
  // A copy on the host is done when it returns.
  result.capturable = input.mem_loc == MemLoc::Device || mem_loc == MemLoc::Device;
  return result;
}

// Nothing to do where the tensor is packed there already: an alias that the compiler may break.
InferResult bring_to(const TDesc &input, MemLoc mem_loc) {
  if (input.mem_loc != mem_loc || !core::is_packed(input))
    return copy_to(input, mem_loc);
  InferResult result;
  result.input_descs = {input};
  result.output_descs = {input};
  result.in_place = {{.in_idx = 0, .out_idx = 0, .required = false, .writes = false}};
  result.capturable = mem_loc == MemLoc::Device;
  return result;
}

InferResult infer_memcpy(
    const InferContext &context, std::span<const TDesc> inputs, const nlohmann::json &params) {
  const bool to_device = params.at("target") == "Device";
  if (to_device && context.compute_location == MemLoc::Host)
    throw ParamError(
        "/target",
        "expected \"Host\" where the graph runs on the CPU, got \"Device\"; "
        "a Memcpy to the Device needs a GPU (device=cuda), an \"Upload\" "
        "runs on both");
  return copy_to(inputs[0], to_device ? MemLoc::Device : MemLoc::Host);
}

TaskSpec copying_spec(std::string type, std::string doc, InferFunction infer) {
  TaskSpec spec;
  spec.type = std::move(type);
  spec.doc = std::move(doc);
  spec.inputs = {{"tensor", "any tensor or view"}};
  spec.outputs = {{"tensor", "the same elements"}};
  spec.infer = std::move(infer);
  spec.make_sync = [](const MakeArgs<core::SyncCreateCtx> &) {
    return std::make_unique<HostCopyTask>();
  };
  return spec;
}

}  // namespace

void register_transfer(core::Registry &registry) {
  register_spec(
      registry,
      copying_spec(
          "Upload", "Brings a tensor to where computing happens.",
          [](const InferContext &context, std::span<const TDesc> inputs, const nlohmann::json &) {
            return bring_to(inputs[0], context.compute_location);
          }));
  register_spec(
      registry,
      copying_spec(
          "Download", "Brings a tensor to Host memory.",
          [](const InferContext &, std::span<const TDesc> inputs, const nlohmann::json &) {
            return bring_to(inputs[0], MemLoc::Host);
          }));
  TaskSpec memcpy =
      copying_spec("Memcpy", "Copies a tensor, packed, to Host or Device memory.", infer_memcpy);
  memcpy.params = {
      {.name = "target",
       .types = String,
       .doc = "where the copy lies",
       .choices = {"Host", "Device"}}};
  register_spec(registry, std::move(memcpy));
  register_spec(
      registry,
      copying_spec(
          "Copy", "Copies a view into a packed tensor in the same memory.",
          [](const InferContext &, std::span<const TDesc> inputs, const nlohmann::json &) {
            return copy_to(inputs[0], inputs[0].mem_loc);
          }));
}

}  // namespace holoflow::tasks
