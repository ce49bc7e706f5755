// SPDX-License-Identifier: LGPL-2.1-or-later
// One spec per built-in task type: validates params, documents, infers and makes the task.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "holoflow/core/error.hh"
#include "holoflow/core/registry.hh"
#include "holoflow/core/tasks.hh"

namespace holoflow::tasks {

/// What JSON values a param takes; several may be or-ed.
enum ParamTypes : unsigned {
  Int = 1u << 0,  ///< 4, not 4.0
  Number = 1u << 1,  ///< any JSON number
  String = 1u << 2,
  IntArray = 1u << 3,
  NumberArray = 1u << 4,
  Null = 1u << 5,
  SliceArray = 1u << 6,  ///< ints and {start, stop, step} objects
  Bool = 1u << 7,  ///< true or false
};

struct ParamSpec {
  std::string name;
  unsigned types = 0;
  std::string doc;
  /// Missing: the param is required.
  std::optional<nlohmann::json> default_value = {};
  std::optional<double> minimum = {};  ///< inclusive, of each number
  bool exclusive_minimum = false;  ///< the minimum itself is refused
  std::vector<std::string> choices = {};  ///< strings allowed, empty = any
};

struct SlotSpec {
  std::string name;
  std::string doc;
  std::vector<core::DType> dtypes = {};  ///< allowed element types, empty = any
  bool optional = false;
};

/// What a factory may know of the compile it serves. Default: a compile for the CPU.
struct InferContext {
  core::MemLoc compute_location = core::MemLoc::Host;  ///< where Upload brings tensors
  std::string node_name = {};
  /// Tensors of the Input nodes by node name; null or absent: the Input cannot be inferred.
  const std::map<std::string, core::TDesc> *graph_inputs = nullptr;
  size_t min_slots = 0;  ///< frames that an asynchronous node must hold, 0 = as its params say
};

/// A factory that takes the compile's context; the compiler prefers these calls to the plain ones.
class IContextualFactory {
public:
  virtual ~IContextualFactory() = default;
  [[nodiscard]] virtual core::InferResult infer_in(
      const InferContext &context, std::span<const core::TDesc> input_descs,
      const nlohmann::json &settings) const = 0;
};
class IContextualSyncFactory : public IContextualFactory {
public:
  [[nodiscard]] virtual std::unique_ptr<core::ISyncTask> create_in(
      const InferContext &context, std::span<const core::TDesc> input_descs,
      const nlohmann::json &settings, const core::SyncCreateCtx &ctx) const = 0;
};
class IContextualAsyncFactory : public IContextualFactory {
public:
  [[nodiscard]] virtual std::unique_ptr<core::IAsyncTask> create_in(
      const InferContext &context, std::span<const core::TDesc> input_descs,
      const nlohmann::json &settings, const core::AsyncCreateCtx &ctx) const = 0;
};

/// What a maker gets. `params` is complete: every param of the spec is present, defaults filled in.
template <typename CreateCtx> struct MakeArgs {
  std::span<const core::TDesc> inputs;
  const core::InferResult &infer;  ///< as the spec's infer gave it for these inputs and params
  const nlohmann::json &params;
  const CreateCtx &ctx;
};
using SyncMaker =
    std::function<std::unique_ptr<core::ISyncTask>(const MakeArgs<core::SyncCreateCtx> &)>;
using AsyncMaker =
    std::function<std::unique_ptr<core::IAsyncTask>(const MakeArgs<core::AsyncCreateCtx> &)>;

/// Checks inputs beyond SlotSpec (number of inputs, element types and param types are already
/// checked) and describes outputs. Throws std::invalid_argument: expected, got, what to do.
using InferFunction = std::function<core::InferResult(
    const InferContext &context, std::span<const core::TDesc> inputs,
    const nlohmann::json &params)>;

/// Names the axes along which a task puts elements together, as FFT and Mean do. The compiler warns
/// where the frame axis is one of them, not all axes are, and each tensor holds a single frame.
struct AxisWork {
  std::string param = {};  ///< holds an axis or several, or null for a default; empty: none
  std::string verb = {};  ///< "reduces": what the task does along them
};

struct TaskSpec {
  std::string type;
  std::string doc;  ///< one line
  std::vector<SlotSpec> inputs;
  std::vector<SlotSpec> outputs;
  std::vector<ParamSpec> params;
  AxisWork axis_work = {};
  InferFunction infer;
  SyncMaker make_sync = {};  ///< Host implementation of a synchronous task …
  AsyncMaker make_async = {};  ///< … or of an asynchronous one; exactly one is set
  /// Host implementation serves Device tensors too (views, tasks that only use the device seam).
  bool host_maker_serves_device = false;
};

/// Thrown for a param; carries the JSON pointer relative to the node's params ("/axis").
class ParamError : public core::Refusal {
public:
  ParamError(
      std::string pointer, const std::string &message, core::Reason reason = core::Reason::BadParam)
      : Refusal(reason, message), pointer(std::move(pointer)) {}
  std::string pointer;
};
using ParamFaults = core::BasicFaultList<ParamError>;

/// Params with defaults filled in. Throws ParamError for unknown names (with the nearest valid
/// one), wrong types, values out of range, missing required params. Null settings count as {}.
[[nodiscard]] nlohmann::json complete_params(const TaskSpec &spec, const nlohmann::json &settings);

/// `≥ 1`, `> 0`; "" where the param has no minimum. Whole numbers have no point.
[[nodiscard]] std::string minimum_text(const ParamSpec &param);

/// Every fault of the settings, not only the first.
[[nodiscard]] ParamFaults check_params(const TaskSpec &spec, const nlohmann::json &settings);

/// Whether memory of this size and rank can be: at most max_tensor_rank axes and max_tensor_bytes
/// bytes.
[[nodiscard]] bool is_possible(const core::TDesc &desc) noexcept;

/// Registers the spec as a factory under its type.
void register_spec(core::Registry &registry, TaskSpec spec);

/// The spec behind a registered type, or null for foreign factories.
[[nodiscard]] const TaskSpec *find_spec(const core::Registry &registry, const std::string &type);

/// Called by the CUDA module: the implementation of a registered spec for Device tensors. It is
/// used whenever an input or output is on Device. Throws std::out_of_range for an unknown type.
void add_device_maker(core::Registry &registry, const std::string &type, SyncMaker maker);
void add_device_maker(core::Registry &registry, const std::string &type, AsyncMaker maker);

}  // namespace holoflow::tasks
