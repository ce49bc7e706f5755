// SPDX-License-Identifier: LGPL-2.1-or-later
// Specs of Sqrt, Log1p, Abs and AbsSquared.
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/elementwise/elementwise_tasks.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

using core::DType;

DType output_dtype(Elementwise function, DType input) {
  if (function == Elementwise::Sqrt || input != DType::CF32)
    return input;
  return DType::F32;
}

std::vector<DType> input_dtypes(Elementwise function) {
  switch (function) {
  case Elementwise::Log1p:
    return {DType::F32};
  case Elementwise::Abs:
    return {};
  case Elementwise::Sqrt:
  case Elementwise::AbsSquared:
    break;
  }
  return {DType::F32, DType::CF32};
}

const char *doc_of(Elementwise function) {
  switch (function) {
  case Elementwise::Sqrt:
    return "Square root; NaN below 0, the principal root of CF32.";
  case Elementwise::Log1p:
    return "Natural logarithm of 1 + x.";
  case Elementwise::Abs:
    return "Absolute value; of CF32 the modulus, as F32.";
  case Elementwise::AbsSquared:
    break;
  }
  return "Square; of CF32 re² + im², as F32.";
}

core::InferResult infer(Elementwise function, std::span<const core::TDesc> inputs) {
  require_indexable(inputs);
  core::InferResult result =
      elementwise_result(inputs, like_input(inputs[0], output_dtype(function, inputs[0].dtype)));
  // Integers are their own absolute value: where memory is shared nothing is written.
  const bool identity = inputs[0].dtype == DType::U8 || inputs[0].dtype == DType::U16;
  for (core::InPlace &in_place : result.in_place)
    in_place.writes = !identity;
  return result;
}

TaskSpec make_spec(const ElementwiseType &entry) {
  TaskSpec spec;
  spec.type = entry.type;
  spec.doc = doc_of(entry.function);
  spec.inputs = {{"x", "any shape", input_dtypes(entry.function)}};
  spec.outputs = {{"y", "same shape, packed"}};
  spec.infer = [function = entry.function](
                   const InferContext &, std::span<const core::TDesc> inputs,
                   const nlohmann::json &) { return infer(function, inputs); };
  spec.make_sync = make_elementwise_host(entry.function);
  return spec;
}

}  // namespace

void register_elementwise(core::Registry &registry) {
  for (const ElementwiseType &entry : elementwise_types)
    register_spec(registry, make_spec(entry));
}

}  // namespace holoflow::tasks
