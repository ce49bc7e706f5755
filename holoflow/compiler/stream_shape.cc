// SPDX-License-Identifier: LGPL-2.1-or-later
// Rates and delays along the paths of a graph.
#include "holoflow/runtime/stream_shape.hh"

#include <algorithm>
#include <limits>
#include <numeric>

namespace holoflow::runtime {

namespace {

/// A fraction of counts; unknown once 31 bits do not hold it.
class Ratio {
public:
  void multiply(size_t numerator, size_t denominator) {
    if (unknown_ || numerator == 0 || denominator == 0)
      return;
    constexpr size_t most = std::numeric_limits<int32_t>::max();
    const size_t common = std::gcd(numerator, denominator);
    const size_t a = std::gcd(numerator / common, denominator_);
    const size_t b = std::gcd(numerator_, denominator / common);
    const size_t n = numerator / common / a, m = denominator / common / b;
    numerator_ = numerator_ / b;
    denominator_ = denominator_ / a;
    unknown_ = n > most / numerator_ || m > most / denominator_;
    if (unknown_)
      return;
    numerator_ *= n;
    denominator_ *= m;
  }
  void forget() { unknown_ = true; }
  [[nodiscard]] StreamRate rate() const {
    if (unknown_)
      return {0, 1};
    return {static_cast<uint32_t>(numerator_), static_cast<uint32_t>(denominator_)};
  }
  /// Frames that enter for `frames` here, rounded up.
  [[nodiscard]] size_t entering(size_t frames) const {
    return (frames * denominator_ + numerator_ - 1) / numerator_;
  }

private:
  size_t numerator_ = 1, denominator_ = 1;
  bool unknown_ = false;
};

struct Step {
  size_t node;
  int out;
};

std::vector<Step> path_to(const GraphPlan &graph, size_t output) {
  std::vector<const EdgePlan *> into(graph.nodes.size(), nullptr);  // input 0
  for (const auto &edge : graph.edges)
    if (edge.spec.in_idx == 0)
      into[edge.to] = &edge;
  std::vector<Step> path;
  for (const auto *edge = into[output]; edge != nullptr && path.size() < graph.nodes.size();
       edge = into[edge->from])
    path.push_back({edge->from, edge->spec.out_idx});
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

/// Follows one path and writes down what happens on it.
class StreamPath {
public:
  explicit StreamPath(StreamShape &shape) : shape_(shape) {}

  void begin(const std::string &node, size_t records) {
    iterations_.multiply(1, records);
    shape_.delay_frames += std::max<size_t>(records, 1) - 1;
    shape_.held_frames += records;
    add_stage(node, records, records, records, 0);
    shape_.records = records;
  }

  void pass(const NodePlan &node, const RecordPlan &records) {
    if (const auto &window = node.infer.window)
      pass_window(node.spec.name, *window, records.count);
    else if (records.count != shape_.records)
      add_stage(node.spec.name, shape_.records, shape_.records, records.count, 0);
    if (records.source == RecordPlan::Source::Merged || one_of_a_window(node, records))
      frames_ = iterations_;
    shape_.records = records.count;
  }

  void end() {
    shape_.records_per_frame = frames_.rate();
    shape_.tensors_per_frame = iterations_.rate();
  }

private:
  static bool one_of_a_window(const NodePlan &node, const RecordPlan &records) {
    return node.infer.window && node.infer.window->size > 1 && records.count == 1;
  }

  // Tensors without frames move nothing.
  void add_stage(
      const std::string &node, size_t size, size_t stride, size_t records, size_t delay) {
    const auto some = [](size_t count) { return std::max<uint64_t>(count, 1); };
    shape_.stages_.push_back({node, some(size), some(stride), some(records), delay + some(size)});
  }

  void pass_window(const std::string &node, const core::Window &window, size_t records) {
    shape_.delay_frames += frames_.entering(window.size);
    shape_.held_frames += frames_.entering(std::max(window.capacity, window.size));
    iterations_ = frames_;
    iterations_.multiply(1, window.stride);
    frames_.multiply(std::min(window.size, window.stride), window.stride);
    add_stage(node, window.size, window.stride, records, window.delay);
    shape_.drops = shape_.drops || window.drops;
    if (!window.thins)
      return;
    shape_.thins = true;
    frames_.forget();
    iterations_.forget();
  }

  StreamShape &shape_;
  Ratio frames_, iterations_;
};

// How many of those that the stage takes end with the newest of the first `records` that it gives.
uint64_t StreamShape::taken_for(uint64_t records, const Stage &stage) {
  if (records == 0)
    return 0;
  const uint64_t step = (records - 1) / stage.records, within = (records - 1) % stage.records;
  const uint64_t end = stage.needed + step * stage.stride;
  // Frames that were kept over a resume count as none.
  const uint64_t newer = stage.records == stage.size ? stage.size - 1 - within : 0;
  return end > newer ? end - newer : 0;
}

// How many there are before each stage, and behind the last.
std::vector<uint64_t> StreamShape::records_at_stages(uint64_t entered) const {
  std::vector<uint64_t> counts{entered};
  for (const auto &stage : stages_) {
    const uint64_t count = counts.back();
    const uint64_t steps = count < stage.needed ? 0 : (count - stage.needed) / stage.stride + 1;
    counts.push_back(steps * stage.records);
  }
  return counts;
}

uint64_t StreamShape::frames_settled(uint64_t entered) const {
  const auto counts = records_at_stages(entered);
  // Behind the newest that has come out, those settle that no later step shows.
  uint64_t settled = counts.back();
  for (size_t i = stages_.size(); i-- > 0;) {
    const auto &stage = stages_[i];
    const uint64_t end = stage.needed + (settled / stage.records) * stage.stride;
    const uint64_t next = end > stage.size ? end - stage.size : 0;
    settled = std::max(taken_for(settled, stage), std::min(next, counts[i]));
  }
  return settled;
}

uint64_t StreamShape::frames_shown(uint64_t entered) const {
  uint64_t shown = records_at_stages(entered).back();
  for (size_t i = stages_.size(); i-- > 0;)
    shown = taken_for(shown, stages_[i]);
  return shown;
}

StreamShape StreamShape::resumed(const std::map<std::string, NodeLedger> &ledger) const {
  StreamShape shape = *this;
  for (auto &stage : shape.stages_) {
    const auto node = ledger.find(stage.node);
    const bool tells = node != ledger.end() && node->second.awaited.has_value();
    stage.needed = std::max<uint64_t>(tells ? *node->second.awaited : stage.size, 1);
  }
  return shape;
}

size_t StreamShape::window_frames() const {
  size_t largest = 1;
  Ratio records;
  for (const auto &stage : stages_) {
    largest = std::max(largest, records.entering(stage.size));
    records.multiply(stage.records, stage.stride);
  }
  return largest;
}

std::vector<StreamShape> stream_shapes(const GraphPlan &graph) {
  std::vector<StreamShape> shapes;
  for (size_t output = 0; output < graph.nodes.size(); ++output) {
    if (!graph.nodes[output].out_tids.empty())
      continue;
    auto &shape = shapes.emplace_back();
    shape.output = graph.nodes[output].spec.name;
    StreamPath path(shape);
    for (const auto &step : path_to(graph, output)) {
      const auto &node = graph.nodes[step.node];
      const auto &records = node.out_records[static_cast<size_t>(step.out)];
      shape.nodes.push_back(node.spec.name);
      if (node.in_tids.empty()) {
        shape.input = node.spec.name;
        path.begin(shape.input, records.count);
      } else {
        path.pass(node, records);
      }
    }
    shape.nodes.push_back(shape.output);
    path.end();
  }
  return shapes;
}

}  // namespace holoflow::runtime
