// SPDX-License-Identifier: LGPL-2.1-or-later
// The graph of one element as its properties describe it: read, judged and inferred without a
// device.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gstholoflowcaps.h"
#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/registry.hh"
#include "holoflow/runtime/compiler.hh"

namespace holoflow::gst {

/// The properties that decide what a graph is.
struct GraphSettings {
  std::string graph;  ///< file, JSON or chain
  std::string settings;  ///< JSON merge patch of node params, "" for none
  runtime::CompilerConfig::Device device = runtime::CompilerConfig::Device::Auto;
  int cuda_device = -1;
  std::string trace_location;  ///< file, "" for none
  runtime::CompilerConfig::Replay replay = runtime::CompilerConfig::Replay::Auto;
};

/// An Input or Output node.
struct PortNode {
  std::string name;
  std::string as;  ///< Input, "" for none
  std::string caps;  ///< Input, "" for none
  std::string format;  ///< Output, "" for none
  friend bool operator==(const PortNode &, const PortNode &) = default;
};

/// What the caps of an Input restrict it to; null where they restrict nothing or are no caps.
[[nodiscard]] CapsPtr allowed_caps(const PortNode &input);

/// What the graph makes of frames of one kind.
struct Inference {
  core::FaultList faults;  ///< empty where the graph takes them
  OutputLayout layout;
  /// Buffers that leave for each frame that enters, as a fraction; 0/1 where that varies.
  Rate buffers_per_frame = {1, 1};
  size_t delay_frames = 0;  ///< frames that enter before the first one leaves, beyond one
  size_t held_frames = 0;  ///< frames that the graph can hold

  [[nodiscard]] bool ok() const { return faults.empty(); }
};

/// Immutable but for the cache of inferences.
///
/// Threads: const calls from any.
/// Errors: nothing throws; a faulty graph is a model with faults.
class GraphModel {
public:
  explicit GraphModel(GraphSettings settings);

  [[nodiscard]] const GraphSettings &settings() const { return settings_; }
  /// Faults of reading and of the settings.
  [[nodiscard]] const core::FaultList &read_faults() const { return faults_; }
  /// The graph with the settings merged in. Empty where there are read faults.
  [[nodiscard]] const core::GraphSpec &spec() const { return spec_; }
  [[nodiscard]] const std::vector<PortNode> &inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<PortNode> &outputs() const { return outputs_; }

  /// Everything that is wrong whatever the caps will be. Empty: some caps will do.
  [[nodiscard]] core::FaultList judge() const;

  /// What the graph does with this frame. One Input and one Output.
  [[nodiscard]] std::shared_ptr<const Inference> infer(const core::TDesc &frame) const;
  /// Why the graph does not take these fixed caps; empty where it does.
  [[nodiscard]] core::FaultList refusal(const GstCaps *caps) const;
  /// The rows whose frames the graph takes at some size, most specific first, as `restrict` allows.
  [[nodiscard]] std::vector<const CapsRow *> accepted_rows() const;
  /// What it does with frames of that row: at 64×48, or where the graph needs larger ones at the
  /// first size it takes. `same_size`: the picture leaves in the size in which it enters.
  struct RowInference {
    std::shared_ptr<const Inference> inference;
    bool same_size = false;
  };
  [[nodiscard]] RowInference infer_row(const CapsRow &row) const;

  /// For a compile with this frame.
  [[nodiscard]] runtime::CompilerConfig config(const core::TDesc &frame) const;

private:
  void read();
  void merge_settings();
  void apply(nlohmann::json &patch, bool last);
  void find_ports();
  void find_extents();
  [[nodiscard]] Inference compute(const core::TDesc &frame) const;
  [[nodiscard]] core::FaultList infer_faults(const CapsRow &row) const;

  const GraphSettings settings_;
  // Inference has a registry of its own: a compile adds GPU implementations to another one.
  mutable core::Registry registry_;
  core::GraphSpec spec_;
  std::vector<size_t> named_extents_;
  core::FaultList faults_;
  std::vector<PortNode> inputs_, outputs_;

  mutable std::mutex mutex_;  // guards cache_
  mutable std::map<std::string, std::shared_ptr<const Inference>> cache_;
};

}  // namespace holoflow::gst
