// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading a graph from the element's properties and asking it what it does with caps.
#include "gstholoflowmodel.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "gstholoflowtasks.h"
#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::gst {

namespace {

struct Size {
  size_t width, height;
};
// Where sizes are open. The larger ones are for graphs that cut a fixed region out of the picture.
constexpr std::array<Size, 3> placeholders{{{64, 48}, {1920, 1088}, {4096, 4096}}};

core::Error fault(core::Reason reason, const std::string &text, const std::string &node = {}) {
  core::Error error(text, reason);
  error.node = node;
  return error;
}

std::string text_param(const nlohmann::json &params, const char *name) {
  if (!params.is_object())
    return "";
  const auto found = params.find(name);
  return found != params.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string cache_key(const core::TDesc &frame) {
  std::string key = core::to_string(frame);
  if (frame.media)
    key += frame.media->pixel_format + "/" + frame.media->colour_matrix + "/" +
        frame.media->colour_range;
  return key;
}

// A fraction of counts; unknown once it leaves what caps can say.
class Ratio {
public:
  void multiply(size_t numerator, size_t denominator) {
    if (unknown_ || numerator == 0 || denominator == 0)
      return;
    const size_t a = std::gcd(numerator, denominator_), b = std::gcd(numerator_, denominator);
    const size_t n = numerator / a, m = denominator / b;
    numerator_ = numerator_ / b;
    denominator_ = denominator_ / a;
    unknown_ = n > G_MAXINT / numerator_ || m > G_MAXINT / denominator_;
    if (unknown_)
      return;
    numerator_ *= n;
    denominator_ *= m;
  }
  void forget() { unknown_ = true; }
  [[nodiscard]] Rate rate() const {
    return unknown_ ? Rate{} : Rate{static_cast<int>(numerator_), static_cast<int>(denominator_)};
  }
  /// Frames of the Input behind `frames` here, rounded up.
  [[nodiscard]] size_t entering(size_t frames) const {
    return (frames * denominator_ + numerator_ - 1) / numerator_;
  }

private:
  size_t numerator_ = 1, denominator_ = 1;
  bool unknown_ = false;
};

size_t index_of(const runtime::GraphPlan &graph, const std::string &name) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].spec.name == name)
      return i;
  return graph.nodes.size();
}

// From the Input to the Output along every node's input 0, which is whose records travel.
struct Step {
  size_t node;
  int out;
};
std::vector<Step> main_path(const runtime::GraphPlan &graph, size_t output) {
  std::vector<const runtime::EdgePlan *> into(graph.nodes.size(), nullptr);  // input 0
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

bool drops_by_time(const runtime::NodePlan &node) {
  return node.spec.kind == "RateLimiter" && text_param(node.spec.settings, "policy") == "drop";
}

// How frames thin out and how long they stay between Input and Output.
void follow(
    const runtime::GraphPlan &graph, size_t output, bool one_buffer_per_frame, Inference &result) {
  Ratio frames, iterations;
  for (const auto &step : main_path(graph, output)) {
    const auto &node = graph.nodes[step.node];
    const auto &records = node.out_records[static_cast<size_t>(step.out)];
    if (node.in_tids.empty()) {
      iterations.multiply(1, records.count);
      result.delay_frames += records.count - 1;
      result.held_frames += records.count;
    }
    if (const auto &window = node.infer.window) {
      result.delay_frames += frames.entering(window->size);
      result.held_frames += frames.entering(std::max(window->capacity, window->size));
      iterations = frames;
      iterations.multiply(1, window->stride);
      frames.multiply(std::min(window->size, window->stride), window->stride);
    }
    if (records.source == runtime::RecordPlan::Source::Merged)
      frames = iterations;
    if (drops_by_time(node)) {
      frames.forget();
      iterations.forget();
    }
  }
  result.buffers_per_frame = (one_buffer_per_frame ? frames : iterations).rate();
}

std::string names_of(const std::vector<PortNode> &ports) {
  std::vector<std::string> names;
  for (const auto &port : ports)
    names.push_back(port.name);
  return core::quoted_names(names);
}

void judge_count(
    const std::vector<PortNode> &ports, const char *type, const char *advice,
    core::FaultList &faults) {
  if (ports.size() == 1)
    return;
  faults.add(fault(
      core::Reason::BadGraph,
      std::string("expected one ") + type + " node, got " +
          (ports.empty() ? "none; " + std::string(advice)
                         : std::to_string(ports.size()) + " (" + names_of(ports) +
                   "); more than one comes with a later release of holoflowbin")));
}

bool same_texts(const core::FaultList &a, const core::FaultList &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) {
    return std::string_view(x.what()) == y.what();
  });
}

}  // namespace

GraphModel::GraphModel(GraphSettings settings) : settings_(std::move(settings)) {
  register_tasks(registry_);
  read();
  if (faults_.empty())
    merge_settings();
  find_ports();
  find_extents();
}

void GraphModel::read() {
  if (settings_.graph.find_first_not_of(" \t\r\n") == std::string::npos) {
    faults_.add(fault(
        core::Reason::BadGraph,
        "no graph is set; set the property \"graph\" to a file, to JSON or to a "
        "chain like \"upload ! sqrt ! download\""));
    return;
  }
  try {
    spec_ = core::GraphSpec::from_text(settings_.graph, registry_.keys());
  } catch (const core::GraphError &error) {
    faults_ = error.faults;
  } catch (const std::exception &error) {
    faults_.add(fault(core::Reason::Other, error.what()));
  }
}

// Settings may name nodes of the graph file, whole sub-graphs among them, and nodes inside of
// sub-graphs ("outer/inner"): the former are patched before the expansion, the rest behind it.
void GraphModel::merge_settings() {
  auto patch = nlohmann::json::object();
  const auto begin = settings_.settings.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos) {
    std::string where;
    try {
      patch = nlohmann::json::parse(settings_.settings, nullptr, true, true);
    } catch (const nlohmann::json::parse_error &error) {
      patch = nullptr;
      if (settings_.settings[begin] == '{')
        where = "; it is no JSON at character " + std::to_string(error.byte);
    }
    if (!patch.is_object()) {
      faults_.add(fault(
          core::Reason::BadParam,
          "settings: expected a JSON object like {\"node\": {\"param\": value}}, got " +
              core::quote(settings_.settings) + where));
      return;
    }
  }
  apply(patch, false);
  try {
    spec_ = spec_.expanded();
  } catch (const core::GraphError &error) {
    faults_.add_all(error.faults);
    return;
  }
  apply(patch, true);
}

// Takes what it applies out of the patch; what is left over the last time names no node.
void GraphModel::apply(nlohmann::json &patch, bool last) {
  std::vector<std::string> names;
  for (auto &node : spec_.nodes) {
    names.push_back(node.name);
    const auto params = patch.find(node.name);
    if (params == patch.end())
      continue;
    if (params->is_object())
      node.settings.merge_patch(*params);
    else
      faults_.add(fault(
          core::Reason::BadParam,
          "settings: expected an object of params for node " + core::quote(node.name) + ", got " +
              core::show(*params),
          node.name));
    patch.erase(params);
  }
  if (!last)
    return;
  for (const auto &item : patch.items()) {
    if (faults_.is_full())
      faults_.add_unlisted();
    else
      faults_.add(fault(
          core::Reason::BadParam,
          "settings: there is no node " + core::quote(item.key()) +
              core::suggestion(item.key(), names)));
  }
}

// Extents that params name, for sizes that no placeholder has.
void GraphModel::find_extents() {
  constexpr size_t most = 8;  // pairs of them are tried
  constexpr int64_t largest = 16384;
  const auto collect = [&](const auto &self, const nlohmann::json &value) -> void {
    if (value.is_structured()) {
      for (const auto &item : value)
        self(self, item);
    } else if (value.is_number_integer() && value > 0 && value <= largest) {
      // An index asks for one more.
      for (const auto extent : {value.get<size_t>(), value.get<size_t>() + 1})
        if (named_extents_.size() < most &&
            std::find(named_extents_.begin(), named_extents_.end(), extent) == named_extents_.end())
          named_extents_.push_back(extent);
    }
  };
  for (const auto &node : spec_.nodes)
    if (node.kind == "Reshape" || node.kind == "Slice")
      collect(collect, node.settings);
}

void GraphModel::find_ports() {
  for (const auto &node : spec_.nodes) {
    if (node.kind == "Input") {
      inputs_.push_back(
          {node.name, text_param(node.settings, "as"), text_param(node.settings, "caps"), ""});
      const auto &caps = inputs_.back().caps;
      if (!caps.empty() && CapsPtr(gst_caps_from_string(caps.c_str())) == nullptr)
        faults_.add(fault(
            core::Reason::BadParam,
            "node " + core::quote(node.name) +
                " (Input): \"caps\": expected GStreamer caps like "
                "\"video/x-raw,format=GRAY8\", got " +
                core::quote(caps),
            node.name));
    } else if (node.kind == "Output")
      outputs_.push_back({node.name, "", "", text_param(node.settings, "format")});
  }
}

runtime::CompilerConfig GraphModel::config(const core::TDesc &frame) const {
  runtime::CompilerConfig config;
  config.device = settings_.device;
  config.cuda_device = settings_.cuda_device;
  config.replay = settings_.replay;
  if (!settings_.trace_location.empty()) {
    const std::filesystem::path file = settings_.trace_location;
    config.log_dir = file.has_parent_path() ? file.parent_path() : ".";
    config.trace_filename = file.filename();
    config.enable_profiling = true;
  }
  for (const auto &input : inputs_)
    config.inputs.emplace(input.name, frame);
  return config;
}

Inference GraphModel::compute(const core::TDesc &frame) const {
  Inference result;
  try {
    const runtime::Compiler compiler(registry_, config(frame));
    auto inferred = compiler.infer(spec_);
    result.faults = std::move(inferred.faults);
    if (!result.ok())
      return result;
    const auto &port = outputs_.front();
    const size_t output = index_of(inferred.graph, port.name);
    const auto &node = inferred.graph.nodes.at(output);
    const auto &tensor = node.infer.input_descs.at(0);
    size_t records = tensor.rank() >= 3 ? tensor.shape[0] : 1;
    if (const auto path = main_path(inferred.graph, output); !path.empty())
      records = inferred.graph.nodes[path.back().node]
                    .out_records.at(static_cast<size_t>(path.back().out))
                    .count;
    try {
      result.layout = output_layout(tensor, records, port.format);
    } catch (const CapsError &error) {
      result.faults.add(fault(
          core::Reason::Incompatible,
          "node " + core::quote(port.name) + " (Output): " + error.what(), port.name));
      return result;
    }
    follow(inferred.graph, output, tensor.rank() < 3 || records == tensor.shape[0], result);
  } catch (const std::exception &error) {
    result.faults.add(fault(core::Reason::Other, error.what()));
  }
  return result;
}

std::shared_ptr<const Inference> GraphModel::infer(const core::TDesc &frame) const {
  const std::string key = cache_key(frame);
  {
    std::lock_guard lock(mutex_);
    if (const auto found = cache_.find(key); found != cache_.end())
      return found->second;
  }
  // Without the lock: two threads may compute the same, neither waits for the other.
  auto result = std::make_shared<const Inference>(compute(frame));
  std::lock_guard lock(mutex_);
  constexpr size_t cache_limit = 256;  // sizes asked for come from outside
  if (cache_.size() >= cache_limit)
    cache_.clear();
  return cache_.emplace(key, std::move(result)).first->second;
}

GraphModel::RowInference GraphModel::infer_row(const CapsRow &row) const {
  const std::string &as = inputs_.front().as;
  const auto at = [&](Size size) {
    return infer(placeholder_frame(row, as, size.width, size.height));
  };
  const auto keeps = [](const Inference &inference, Size size) {
    return inference.layout.kind == CapsRow::Kind::Video && inference.layout.width == size.width &&
        inference.layout.height == size.height;
  };
  RowInference first;
  const auto fits = [&](Size size) {
    RowInference result{at(size), false};
    if (!result.inference->ok()) {
      if (first.inference == nullptr)
        first = std::move(result);
      return false;
    }
    const Size other{size.width + 32, size.height + 16};
    const auto again = at(other);
    result.same_size = again->ok() && keeps(*result.inference, size) && keeps(*again, other);
    first = std::move(result);
    return true;
  };
  for (const Size size : placeholders)
    if (fits(size))
      return first;
  // A graph may fit one size alone, which its params then speak of.
  for (const auto width : named_extents_)
    for (const auto height : named_extents_)
      if (fits({width, height}))
        return first;
  return first;
}

CapsPtr allowed_caps(const PortNode &input) {
  return CapsPtr(input.caps.empty() ? nullptr : gst_caps_from_string(input.caps.c_str()));
}

std::vector<const CapsRow *> GraphModel::accepted_rows() const {
  std::vector<const CapsRow *> rows;
  if (inputs_.size() != 1 || outputs_.size() != 1 || !faults_.empty())
    return rows;
  const CapsPtr allowed = allowed_caps(inputs_.front());
  for (const CapsRow *row : input_rows(inputs_.front().as)) {
    if (allowed != nullptr && !gst_caps_can_intersect(row_caps(*row).get(), allowed.get()))
      continue;
    if (infer_row(*row).inference->ok())
      rows.push_back(row);
  }
  return rows;
}

core::FaultList GraphModel::refusal(const GstCaps *caps) const {
  try {
    const auto &input = inputs_.front();
    const auto stream = parse_input_caps(caps, input.as);
    const CapsPtr allowed = allowed_caps(input);
    if (allowed != nullptr && !gst_caps_can_intersect(caps, allowed.get())) {
      const TextPtr got(gst_caps_to_string(caps));
      return {fault(
          core::Reason::Incompatible,
          "node " + core::quote(input.name) + " (Input): expected " + core::quote(input.caps) +
              ", got " + got.get() + "; convert before holoflowbin or change \"caps\"",
          input.name)};
    }
    return infer(stream.frame)->faults;
  } catch (const CapsError &error) {
    return {fault(core::Reason::Incompatible, error.what())};
  }
}

core::FaultList GraphModel::infer_faults(const CapsRow &row) const {
  const auto frame = placeholder_frame(
      row, inputs_.empty() ? "" : inputs_.front().as, placeholders[0].width,
      placeholders[0].height);
  if (inputs_.size() == 1 && outputs_.size() == 1)
    return infer(frame)->faults;
  // Names, types and params are judged all the same.
  return runtime::Compiler(registry_, config(frame)).infer(spec_).faults;
}

core::FaultList GraphModel::judge() const {
  if (!faults_.empty())
    return faults_;
  if (!accepted_rows().empty())
    return {};
  core::FaultList faults;
  judge_count(inputs_, "Input", "add a node of type \"Input\", frames enter through it", faults);
  judge_count(outputs_, "Output", "add a node of type \"Output\", frames leave through it", faults);
  std::vector<const CapsRow *> rows = input_rows(inputs_.empty() ? "" : inputs_.front().as);
  if (!inputs_.empty() && !inputs_.front().caps.empty()) {
    const auto &input = inputs_.front();
    const CapsPtr allowed = allowed_caps(input);
    std::erase_if(rows, [&](const CapsRow *row) {
      return allowed == nullptr || !gst_caps_can_intersect(row_caps(*row).get(), allowed.get());
    });
    if (rows.empty())
      faults.add(fault(
          core::Reason::BadParam,
          "node " + core::quote(input.name) +
              " (Input): expected \"caps\" that meet "
              "what an Input takes, like \"video/x-raw,format=GRAY8\", got " +
              core::quote(input.caps),
          input.name));
  }
  if (rows.empty())
    return faults;
  // The faults of the first format; where others differ, types alone may be wrong.
  auto first = infer_faults(*rows.front());
  if (!same_texts(first, infer_faults(*rows.back())))
    first.add(fault(
        core::Reason::Incompatible,
        "no format that the Input takes fits this graph; shown are the faults for " +
            rows.front()->name()));
  faults.add_all(first);
  return faults;
}

}  // namespace holoflow::gst
