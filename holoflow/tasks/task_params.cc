// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks a node's params against its spec and fills in defaults.
#include <algorithm>
#include <cmath>
#include <limits>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/near_name.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {
namespace {

using nlohmann::json;

using core::show;
using Faults = ParamFaults;

bool fits_int(const json &value) {
  return value.is_number_integer() &&
      (!value.is_number_unsigned() ||
       value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

bool is_number(const json &value) {
  return value.is_number() && std::isfinite(value.get<double>());
}

template <typename Predicate> bool is_array_of(const json &value, Predicate predicate) {
  if (!value.is_array())
    return false;
  for (const json &item : value)
    if (!predicate(item))
      return false;
  return true;
}

bool has_type(const json &value, unsigned types) {
  return ((types & Int) != 0 && fits_int(value)) || ((types & Number) != 0 && is_number(value)) ||
      ((types & String) != 0 && value.is_string()) ||
      ((types & IntArray) != 0 && is_array_of(value, fits_int)) ||
      ((types & NumberArray) != 0 && is_array_of(value, is_number)) ||
      ((types & Null) != 0 && value.is_null()) || ((types & SliceArray) != 0 && value.is_array()) ||
      ((types & Bool) != 0 && value.is_boolean());
}

/// "an integer or null".
std::string describe_types(unsigned types) {
  static constexpr std::pair<unsigned, const char *> names[] = {
      {Int, "an integer"},
      {Number, "a number"},
      {String, "a string"},
      {IntArray, "an array of integers"},
      {NumberArray, "an array of numbers"},
      {SliceArray, "an array of integers and {\"start\", \"stop\", \"step\"} objects"},
      {Bool, "true or false"},
      {Null, "null"},
  };
  std::vector<std::string> parts;
  for (const auto &[bit, name] : names)
    if ((types & bit) != 0)
      parts.emplace_back(name);
  return core::alternatives(parts);
}

std::string pointer_to(const std::string &name) {
  return "/" + core::escape_pointer_token(name);
}

void check_slice_object(
    const std::string &where, const std::string &pointer, const json &item, Faults &faults) {
  static const std::vector<std::string> keys = {"start", "stop", "step"};
  for (const auto &[key, value] : item.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      faults.add(ParamError(
          pointer + pointer_to(key),
          where + ": unknown key " + core::quote(key) + core::suggestion(key, keys) +
              "; expected start, stop, step"));
    } else if (!value.is_null() && !fits_int(value)) {
      faults.add(ParamError(
          pointer + pointer_to(key),
          where + ", " + key + ": expected an integer or null, got " + show(value)));
    } else if (key == "step" && !value.is_null() && value.get<int64_t>() <= 0) {
      faults.add(ParamError(
          pointer + "/step", where + ", step: expected an integer > 0, got " + show(value)));
    }
  }
}

void check_slices(
    const std::string &label, const std::string &pointer, const json &value, Faults &faults) {
  for (size_t i = 0; i < value.size() && !faults.is_full(); ++i) {
    const std::string where = label + "[" + std::to_string(i) + "]";
    const std::string item_pointer = pointer + "/" + std::to_string(i);
    if (value[i].is_object()) {
      check_slice_object(where, item_pointer, value[i], faults);
    } else if (!fits_int(value[i])) {
      faults.add(ParamError(
          item_pointer,
          where +
              ": expected an integer or an object {\"start\", \"stop\", "
              "\"step\"}, got " +
              show(value[i])));
    }
  }
}

void check_minimum(
    const ParamSpec &param, const std::string &label, const json &value, Faults &faults) {
  if (!param.minimum || !value.is_number())
    return;
  const double number = value.get<double>();
  if (number > *param.minimum || (!param.exclusive_minimum && number == *param.minimum))
    return;
  if (faults.is_full())
    return faults.add_unlisted();
  faults.add(ParamError(
      pointer_to(param.name),
      label + ": expected " + minimum_text(param) + ", got " + show(value)));
}

void check_choice(
    const ParamSpec &param, const std::string &label, const json &value, Faults &faults) {
  if (param.choices.empty() || !value.is_string())
    return;
  const auto &text = value.get_ref<const std::string &>();
  if (std::find(param.choices.begin(), param.choices.end(), text) != param.choices.end())
    return;
  faults.add(ParamError(
      pointer_to(param.name),
      label + ": expected " + core::alternatives(param.choices) + ", got " + show(value) +
          core::suggestion(text, param.choices)));
}

/// 4.0 where an integer is meant deserves to be told what to write.
std::string integer_hint(const ParamSpec &param, const json &value) {
  if ((param.types & Number) != 0 || (param.types & Int) == 0 || !value.is_number_float())
    return "";
  const double number = value.get<double>();
  if (number != std::trunc(number) || std::abs(number) > 1e15)
    return "";
  return "; write " + std::to_string(static_cast<int64_t>(number));
}

void check_value(const ParamSpec &param, const json &value, Faults &faults) {
  const std::string label = "param \"" + param.name + "\"";
  if (!has_type(value, param.types)) {
    faults.add(ParamError(
        pointer_to(param.name),
        label + ": expected " + describe_types(param.types) + ", got " + show(value) +
            integer_hint(param, value)));
    return;
  }
  if ((param.types & SliceArray) != 0 && value.is_array())
    check_slices(label, pointer_to(param.name), value, faults);
  check_choice(param, label, value, faults);
  check_minimum(param, label, value, faults);
  if (value.is_array() && (param.types & SliceArray) == 0)
    for (const json &item : value)
      check_minimum(param, label, item, faults);
}

std::string unknown_param(const TaskSpec &spec, const std::string &name) {
  std::vector<std::string> names;
  for (const ParamSpec &param : spec.params)
    names.push_back(param.name);
  std::string text = "unknown param " + core::quote(name) + core::suggestion(name, names);
  if (names.empty())
    return text + "; " + spec.type + " takes no params";
  text += "; expected one of ";
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
  return text;
}

const ParamSpec *find_param(const TaskSpec &spec, const std::string &name) {
  for (const ParamSpec &param : spec.params)
    if (param.name == name)
      return &param;
  return nullptr;
}

}  // namespace

std::string minimum_text(const ParamSpec &param) {
  if (!param.minimum)
    return "";
  const double minimum = *param.minimum;
  const auto whole = static_cast<int64_t>(minimum);
  return (param.exclusive_minimum ? "> " : "≥ ") +
      (minimum == static_cast<double>(whole) ? std::to_string(whole) : show(minimum));
}

ParamFaults check_params(const TaskSpec &spec, const json &settings) {
  Faults faults;
  if (!settings.is_null() && !settings.is_object()) {
    faults.add(ParamError("", "params: expected an object, got " + show(settings)));
    return faults;
  }
  if (settings.is_object()) {
    for (const auto &[name, value] : settings.items()) {
      const ParamSpec *param = find_param(spec, name);
      if (faults.is_full()) {
        faults.add_unlisted(param == nullptr ? 1 : 0);
      } else if (param != nullptr) {
        check_value(*param, value, faults);
      } else {
        faults.add({pointer_to(name), unknown_param(spec, name)});
      }
    }
  }
  for (const ParamSpec &param : spec.params) {
    if (param.default_value || (settings.is_object() && settings.contains(param.name)))
      continue;
    std::string text =
        "param \"" + param.name + "\" is required: expected " + describe_types(param.types);
    if (!param.doc.empty())
      text += " (" + param.doc + ")";
    faults.add(ParamError("", text));
  }
  return faults;
}

json complete_params(const TaskSpec &spec, const json &settings) {
  const Faults faults = check_params(spec, settings);
  if (!faults.empty())
    throw faults.front();
  json params = settings.is_object() ? settings : json::object();
  for (const ParamSpec &param : spec.params)
    if (!params.contains(param.name))
      params[param.name] = *param.default_value;
  return params;
}

}  // namespace holoflow::tasks
