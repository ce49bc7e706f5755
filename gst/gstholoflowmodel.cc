// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading a graph from the element's properties and asking it what it does with caps.
#include "gstholoflowmodel.h"

#include <algorithm>
#include <array>

#include "gstholoflowtasks.h"
#include "holoflow/core/text.hh"

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

std::string cache_key(const Frames &frames) {
  std::string key;
  for (const auto &[node, frame] : frames) {
    key += node + "=" + core::to_string(frame);
    if (frame.media)
      key += frame.media->pixel_format + "/" + frame.media->colour_matrix + "/" +
          frame.media->colour_range;
    key += "\n";
  }
  return key;
}

const runtime::NodePlan &node_of(const runtime::GraphPlan &graph, const std::string &name) {
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const auto &node) {
    return node.spec.name == name;
  });
}

core::Error no_port(const char *type, const char *advice) {
  return fault(
      core::Reason::BadGraph,
      std::string("expected a node of type \"") + type + "\", got none; " + advice);
}

bool same_texts(const core::FaultList &a, const core::FaultList &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) {
    return std::string_view(x.what()) == y.what();
  });
}

}  // namespace

Rate OutputInference::buffers_per_frame() const {
  const auto &rate = one_buffer_per_record ? shape.records_per_frame : shape.tensors_per_frame;
  return rate.known() ? Rate{static_cast<int>(rate.numerator), static_cast<int>(rate.denominator)}
                      : Rate{};
}

GraphModel::GraphModel(GraphSettings settings) : settings_(std::move(settings)) {
  register_tasks(registry_);
  read();
  if (faults_.empty())
    merge_settings();
  find_ports();
  find_main_inputs();
  find_inputs();
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

void GraphModel::find_main_inputs() {
  std::map<std::string, std::string> before;  // at input 0
  for (const auto &edge : spec_.edges)
    if (edge.in_idx == 0)
      before.emplace(edge.to, edge.from);
  for (const auto &output : outputs_) {
    std::string node = output.name;
    for (size_t steps = 0; steps < before.size() && before.contains(node); ++steps)
      node = before.at(node);
    for (const auto &input : inputs_)
      if (input.name == node)
        main_inputs_.emplace(output.name, node);
  }
}

void GraphModel::find_inputs() {
  std::multimap<std::string, std::string> before;
  for (const auto &edge : spec_.edges)
    before.emplace(edge.to, edge.from);
  for (const auto &output : outputs_) {
    std::set<std::string> seen{output.name};
    std::vector<std::string> ahead{output.name};
    while (!ahead.empty()) {
      const std::string node = std::move(ahead.back());
      ahead.pop_back();
      const auto [first, last] = before.equal_range(node);
      for (auto edge = first; edge != last; ++edge)
        if (seen.insert(edge->second).second)
          ahead.push_back(edge->second);
    }
    for (const auto &input : inputs_)
      if (seen.contains(input.name))
        inputs_by_output_[output.name].insert(input.name);
  }
}

std::set<std::string> GraphModel::inputs_of(const std::string &output) const {
  const auto found = inputs_by_output_.find(output);
  return found != inputs_by_output_.end() ? found->second : std::set<std::string>{};
}

bool GraphModel::is_paired(const std::string &input) const {
  return std::any_of(inputs_by_output_.begin(), inputs_by_output_.end(), [&](const auto &each) {
    return each.second.size() > 1 && each.second.contains(input);
  });
}

runtime::CompilerConfig GraphModel::config(const Frames &frames) const {
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
  config.inputs = frames;
  return config;
}

Inference GraphModel::compute(const Frames &frames) const {
  Inference result;
  try {
    auto inferred = runtime::Compiler(registry_, config(frames)).infer(spec_);
    result.faults = std::move(inferred.faults);
    if (!result.ok())
      return result;
    for (auto &shape : runtime::stream_shapes(inferred.graph)) {
      const auto port = std::find_if(outputs_.begin(), outputs_.end(), [&](const auto &each) {
        return each.name == shape.output;
      });
      if (port == outputs_.end()) {
        result.ends_elsewhere = true;
        continue;
      }
      const auto &tensor = node_of(inferred.graph, port->name).infer.input_descs.at(0);
      try {
        OutputInference output;
        output.layout = output_layout(tensor, shape.records, port->format);
        output.one_buffer_per_record = tensor.rank() < 3 || shape.records == tensor.shape[0];
        output.shape = std::move(shape);
        result.outputs.emplace(port->name, std::move(output));
      } catch (const CapsError &error) {
        result.faults.add(fault(
            core::Reason::Incompatible,
            "node " + core::quote(port->name) + " (Output): " + error.what(), port->name));
      }
    }
  } catch (const std::exception &error) {
    result.faults.add(fault(core::Reason::Other, error.what()));
  }
  return result;
}

std::shared_ptr<const Inference> GraphModel::infer(const Frames &frames) const {
  const std::string key = cache_key(frames);
  {
    std::lock_guard lock(mutex_);
    if (const auto found = cache_.find(key); found != cache_.end())
      return found->second;
  }
  // Without the lock: two threads may compute the same, neither waits for the other.
  auto result = std::make_shared<const Inference>(compute(frames));
  std::lock_guard lock(mutex_);
  constexpr size_t cache_limit = 256;  // sizes asked for come from outside
  if (cache_.size() >= cache_limit)
    cache_.clear();
  return cache_.emplace(key, std::move(result)).first->second;
}

Frames GraphModel::with_placeholders(
    Frames frames, const CapsRow &row, size_t width, size_t height) const {
  for (const auto &input : inputs_) {
    if (frames.contains(input.name))
      continue;
    const auto rows = input_rows(input.as);
    const bool takes = std::find(rows.begin(), rows.end(), &row) != rows.end();
    frames.emplace(
        input.name,
        placeholder_frame(takes || rows.empty() ? row : *rows.front(), input.as, width, height));
  }
  return frames;
}

Frames GraphModel::frames_of(
    const PortNode &input, const CapsRow &row, size_t width, size_t height,
    const Frames &known) const {
  Frames frames = known;
  frames[input.name] = placeholder_frame(row, input.as, width, height);
  return with_placeholders(std::move(frames), row, width, height);
}

GraphModel::RowInference GraphModel::infer_row(
    const PortNode &input, const CapsRow &row, const Frames &known) const {
  const auto at = [&](Size size) {
    return infer(frames_of(input, row, size.width, size.height, known));
  };
  const auto keeps = [&](const Inference &inference, Size size) {
    if (inference.outputs.size() != 1)
      return false;
    const auto &layout = inference.outputs.begin()->second.layout;
    return layout.kind == CapsRow::Kind::Video && layout.width == size.width &&
        layout.height == size.height;
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
  // A graph may fit one size alone, which its params then speak of, or another Input brings.
  for (const auto &[node, frame] : known)
    if (node != input.name && frame.rank() >= 3 && fits({frame.shape[2], frame.shape[1]}))
      return first;
  for (const auto width : named_extents_)
    for (const auto height : named_extents_)
      if (fits({width, height}))
        return first;
  return first;
}

CapsPtr allowed_caps(const PortNode &input) {
  return CapsPtr(input.caps.empty() ? nullptr : gst_caps_from_string(input.caps.c_str()));
}

std::vector<const CapsRow *> GraphModel::accepted_rows(
    const PortNode &input, const Frames &known) const {
  std::vector<const CapsRow *> rows;
  if (!faults_.empty())
    return rows;
  const CapsPtr allowed = allowed_caps(input);
  for (const CapsRow *row : input_rows(input.as)) {
    if (allowed != nullptr && !gst_caps_can_intersect(row_caps(*row).get(), allowed.get()))
      continue;
    if (infer_row(input, *row, known).inference->ok())
      rows.push_back(row);
  }
  return rows;
}

core::FaultList GraphModel::refusal(
    const PortNode &input, const GstCaps *caps, const Frames &known) const {
  try {
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
    Frames frames = known;
    frames[input.name] = stream.frame;
    // Those of other Inputs are judged when they come.
    if (frames.size() < inputs_.size())
      return {};
    return infer(frames)->faults;
  } catch (const CapsError &error) {
    return {fault(core::Reason::Incompatible, error.what())};
  }
}

core::FaultList GraphModel::judge_input(const PortNode &input) const {
  core::FaultList faults;
  std::vector<const CapsRow *> rows = input_rows(input.as);
  if (!input.caps.empty()) {
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
  const auto faults_for = [&](const CapsRow &row) {
    return infer(frames_of(input, row, placeholders[0].width, placeholders[0].height, {}))->faults;
  };
  // The faults of the first format; where others differ, types alone may be wrong.
  auto first = faults_for(*rows.front());
  if (!same_texts(first, faults_for(*rows.back())))
    first.add(fault(
        core::Reason::Incompatible,
        "no format that the Input takes fits this graph; shown are the faults for " +
            rows.front()->name()));
  faults.add_all(first);
  return faults;
}

core::FaultList GraphModel::judge() const {
  if (!faults_.empty())
    return faults_;
  core::FaultList faults;
  if (inputs_.empty()) {
    const auto inference = infer({});
    if (inference->ok() && (!outputs_.empty() || inference->ends_elsewhere))
      return faults;
    faults.add(no_port("Input", "add one, frames enter through it"));
    faults.add_all(inference->faults);
    return faults;
  }
  for (const auto &input : inputs_) {
    const auto rows = accepted_rows(input, {});
    const bool leads_nowhere = outputs_.empty() &&
        (rows.empty() || !infer_row(input, *rows.front(), {}).inference->ends_elsewhere);
    if (leads_nowhere)
      faults.add(no_port("Output", "add one, frames leave through it"));
    if (rows.empty())
      faults.add_all(judge_input(input));
    if (!faults.empty())
      break;
  }
  return faults;
}

}  // namespace holoflow::gst
