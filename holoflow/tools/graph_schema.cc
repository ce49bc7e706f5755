// SPDX-License-Identifier: LGPL-2.1-or-later
// The schema of graph files: fixed parts for nodes and edges, a definition for each type's params.
#include "holoflow/tools/graph_schema.hh"

#include <algorithm>

namespace holoflow::tools {

namespace {

using Json = nlohmann::ordered_json;
using tasks::ParamSpec;
using tasks::TaskSpec;

constexpr const char *node_name = R"(^[^/\u0000-\u001f]+$)";
// A node and its slot, as "q" or "q:1"; blanks may stand around both.
constexpr const char *port = R"(^[ \t]*((?!->)[^\s:])+[ \t]*(:[ \t]*[0-9]+[ \t]*)?$)";
constexpr const char *short_edge =
    R"(^[ \t]*((?!->)[^\s:])+[ \t]*(:[ \t]*[0-9]+[ \t]*)?->[ \t]*((?!->)[^\s:])+[ \t]*(:[ \t]*[0-9]+[ \t]*)?$)";

void add_minimum(Json &schema, const ParamSpec &param) {
  if (!param.minimum)
    return;
  const double minimum = *param.minimum;
  const bool whole = minimum == static_cast<double>(static_cast<int64_t>(minimum));
  schema[param.exclusive_minimum ? "exclusiveMinimum" : "minimum"] =
      whole ? Json(static_cast<int64_t>(minimum)) : Json(minimum);
}

Json number_schema(const char *type, const ParamSpec &param) {
  Json schema = {{"type", type}};
  add_minimum(schema, param);
  return schema;
}

Json slice_schema() {
  const Json bound = {{"type", {"integer", "null"}}};
  return {
      {"type", "array"},
      {"items",
       {{"anyOf",
         {{{"type", "integer"}},
          {{"type", "object"},
           {"properties",
            {{"start", bound},
             {"stop", bound},
             {"step", {{"type", {"integer", "null"}}, {"exclusiveMinimum", 0}}}}},
           {"additionalProperties", false}}}}}}};
}

Json param_schema(const ParamSpec &param) {
  Json forms = Json::array();
  if ((param.types & tasks::Number) != 0)
    forms.push_back(number_schema("number", param));
  else if ((param.types & tasks::Int) != 0)
    forms.push_back(number_schema("integer", param));
  if ((param.types & tasks::String) != 0)
    forms.push_back(
        param.choices.empty() ? Json{{"type", "string"}} : Json{{"enum", param.choices}});
  if ((param.types & tasks::NumberArray) != 0)
    forms.push_back({{"type", "array"}, {"items", number_schema("number", param)}});
  else if ((param.types & tasks::IntArray) != 0)
    forms.push_back({{"type", "array"}, {"items", number_schema("integer", param)}});
  if ((param.types & tasks::SliceArray) != 0)
    forms.push_back(slice_schema());
  if ((param.types & tasks::Bool) != 0)
    forms.push_back({{"type", "boolean"}});
  if ((param.types & tasks::Null) != 0)
    forms.push_back({{"type", "null"}});
  Json schema;
  if (!param.doc.empty())
    schema["description"] = param.doc;
  if (param.default_value)
    schema["default"] = *param.default_value;
  if (forms.size() == 1)
    schema.update(forms[0]);
  else
    schema["anyOf"] = forms;
  return schema;
}

Json params_schema(const TaskSpec &spec) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const ParamSpec &param : spec.params) {
    properties[param.name] = param_schema(param);
    if (!param.default_value)
      required.push_back(param.name);
  }
  Json schema = {{"description", spec.doc}};
  schema["type"] = required.empty() ? Json{"object", "null"} : Json("object");
  schema["properties"] = properties;
  schema["additionalProperties"] = false;
  if (!required.empty())
    schema["required"] = required;
  return schema;
}

/// A node of type Graph is no task: the compiler puts a sub-graph's nodes in its place.
TaskSpec graph_spec() {
  TaskSpec spec;
  spec.type = "Graph";
  spec.doc = "A sub-graph of \"graphs\" as one node.";
  spec.params = {
      {.name = "graph", .types = tasks::String, .doc = "name of the sub-graph"},
      {.name = "key",
       .types = tasks::String | tasks::Null,
       .doc = "instances of one key are recorded together",
       .default_value = nullptr}};
  return spec;
}

/// `params` of a node by its type; a node of another type is refused by the enum.
Json params_by_type(const std::vector<TaskSpec> &specs) {
  Json rules = Json::array();
  for (const TaskSpec &spec : specs) {
    Json then = {{"properties", {{"params", {{"$ref", "#/$defs/" + spec.type}}}}}};
    if (params_schema(spec).contains("required"))
      then["required"] = {"params"};
    rules.push_back(
        {{"if", {{"properties", {{"type", {{"const", spec.type}}}}}, {"required", {"type"}}}},
         {"then", then}});
  }
  return rules;
}

Json node_schema(const std::vector<TaskSpec> &specs) {
  Json types = Json::array();
  for (const TaskSpec &spec : specs)
    types.push_back(spec.type);
  return {
      {"type", "object"},
      {"properties",
       {{"type", {{"description", "the task's type"}, {"enum", types}}},
        {"params", {{"description", "the task's settings"}}},
        {"debug", {{"type", "boolean"}}},
        {"description", {{"type", "string"}}}}},
      {"required", {"type"}},
      {"additionalProperties", false},
      {"allOf", params_by_type(specs)}};
}

Json edge_schema() {
  const Json name = {{"type", "string"}, {"minLength", 1}};
  const Json slot = {{"type", "integer"}, {"minimum", 0}, {"default", 0}};
  return {
      {"description", "from an output of one node to an input of another"},
      {"oneOf",
       {{{"type", "string"}, {"pattern", short_edge}},
        {{"type", "object"},
         {"properties",
          {{"from", name},
           {"to", name},
           {"out", slot},
           {"in", slot},
           {"debug", {{"type", "boolean"}}},
           {"description", {{"type", "string"}}}}},
         {"required", {"from", "to"}},
         {"additionalProperties", false}}}}};
}

Json body_properties() {
  return {
      {"description", {{"type", "string"}}},
      {"debug", {{"type", "boolean"}}},
      {"nodes",
       {{"type", "object"},
        {"propertyNames", {{"pattern", node_name}}},
        {"additionalProperties", {{"$ref", "#/$defs/node"}}}}},
      {"edges", {{"type", "array"}, {"items", {{"$ref", "#/$defs/edge"}}}}}};
}

Json sub_graph_schema() {
  const Json ports = {{"type", "array"}, {"items", {{"type", "string"}, {"pattern", port}}}};
  Json properties = body_properties();
  properties["inputs"] = ports;
  properties["outputs"] = ports;
  return {
      {"type", "object"},
      {"properties", properties},
      {"required", {"nodes"}},
      {"additionalProperties", false}};
}

}  // namespace

std::vector<TaskSpec> all_specs(const core::Registry &registry) {
  std::vector<TaskSpec> specs;
  for (const std::string &type : registry.keys())
    if (const TaskSpec *spec = tasks::find_spec(registry, type))
      specs.push_back(*spec);
  const auto by_type = [](const TaskSpec &a, const TaskSpec &b) { return a.type < b.type; };
  TaskSpec graph = graph_spec();
  const auto place = std::lower_bound(specs.begin(), specs.end(), graph, by_type);
  specs.insert(place, std::move(graph));
  return specs;
}

Json graph_schema(const core::Registry &registry) {
  const std::vector<TaskSpec> specs = all_specs(registry);
  Json definitions = {
      {"node", node_schema(specs)}, {"edge", edge_schema()}, {"subgraph", sub_graph_schema()}};
  for (const TaskSpec &spec : specs)
    definitions[spec.type] = params_schema(spec);
  Json properties = {{"$schema", {{"type", "string"}}}};
  properties.update(body_properties());
  properties["graphs"] = {
      {"description", "sub-graphs by name"},
      {"type", "object"},
      {"propertyNames", {{"pattern", node_name}}},
      {"additionalProperties", {{"$ref", "#/$defs/subgraph"}}}};
  return {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "Holoflow graph"},
      {"description", "Written by \"holoflow tasks --schema\" from the task specs."},
      {"type", "object"},
      {"properties", properties},
      {"required", {"nodes"}},
      {"additionalProperties", false},
      {"$defs", definitions}};
}

}  // namespace holoflow::tools
