// SPDX-License-Identifier: LGPL-2.1-or-later
// The graph of one element as its properties describe it: read, judged and inferred without a
// device.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gstholoflowcaps.h"
#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/registry.hh"
#include "holoflow/runtime/compiler.hh"
#include "holoflow/runtime/stream_shape.hh"

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

/// One frame of each Input, by node.
using Frames = std::map<std::string, core::TDesc>;

/// How tensors leave an Output.
struct OutputInference {
  OutputLayout layout;
  runtime::StreamShape shape;
  bool one_buffer_per_record = true;  ///< else one for each tensor

  /// Buffers that leave for each frame that enters; 0/1 where that varies.
  [[nodiscard]] Rate buffers_per_frame() const;
};

/// What the graph makes of frames of one kind.
struct Inference {
  core::FaultList faults;  ///< empty where the graph takes them
  std::map<std::string, OutputInference> outputs;  ///< by node
  bool ends_elsewhere = false;  ///< a node that is no Output takes frames and gives none

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
  /// For each Output the Input whose frames leave there: along input 0 of every node between them.
  /// None where no Input is on that way.
  [[nodiscard]] const std::map<std::string, std::string> &main_inputs() const {
    return main_inputs_;
  }
  /// All Inputs from which a way leads to the Output.
  [[nodiscard]] std::set<std::string> inputs_of(const std::string &output) const;
  /// Whether its frames meet those of another Input, which pairs them by their order.
  [[nodiscard]] bool is_paired(const std::string &input) const;

  /// Everything that is wrong whatever the caps will be. Empty: some caps will do.
  [[nodiscard]] core::FaultList judge() const;

  /// What the graph does with these frames.
  [[nodiscard]] std::shared_ptr<const Inference> infer(const Frames &frames) const;
  /// Why the graph does not take these fixed caps at that Input; empty where it does. `known`: the
  /// frames of other Inputs, as far as their caps have come.
  [[nodiscard]] core::FaultList refusal(
      const PortNode &input, const GstCaps *caps, const Frames &known) const;
  /// The rows whose frames the Input takes at some size, most specific first, as its "caps" allow.
  [[nodiscard]] std::vector<const CapsRow *> accepted_rows(
      const PortNode &input, const Frames &known) const;
  /// What it does with frames of that row: at 64×48, or where the graph needs larger ones at the
  /// first size it takes. `same_size`: pictures leave the only Output in the size in which they
  /// enter.
  struct RowInference {
    std::shared_ptr<const Inference> inference;
    bool same_size = false;
  };
  [[nodiscard]] RowInference infer_row(
      const PortNode &input, const CapsRow &row, const Frames &known) const;
  /// The frame of that row and size, with those of the other Inputs: as far as they are not known,
  /// of the same row and size, or of the first row that they take.
  [[nodiscard]] Frames frames_of(
      const PortNode &input, const CapsRow &row, size_t width, size_t height,
      const Frames &known) const;

  /// For a compile with these frames.
  [[nodiscard]] runtime::CompilerConfig config(const Frames &frames) const;

private:
  void read();
  void merge_settings();
  void apply(nlohmann::json &patch, bool last);
  void find_ports();
  void find_main_inputs();
  void find_inputs();
  void find_extents();
  [[nodiscard]] Inference compute(const Frames &frames) const;
  [[nodiscard]] Frames with_placeholders(
      Frames frames, const CapsRow &row, size_t width, size_t height) const;
  [[nodiscard]] core::FaultList judge_input(const PortNode &input) const;

  const GraphSettings settings_;
  // Inference has a registry of its own: a compile adds GPU implementations to another one.
  mutable core::Registry registry_;
  core::GraphSpec spec_;
  std::vector<size_t> named_extents_;
  core::FaultList faults_;
  std::vector<PortNode> inputs_, outputs_;
  std::map<std::string, std::string> main_inputs_;
  std::map<std::string, std::set<std::string>> inputs_by_output_;

  mutable std::mutex mutex_;  // guards cache_
  mutable std::map<std::string, std::shared_ptr<const Inference>> cache_;
};

}  // namespace holoflow::gst
