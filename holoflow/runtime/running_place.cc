// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors of tasks, with their place.
#include "holoflow/runtime/running_place.hh"

#include "holoflow/core/graph_fault.hh"

namespace holoflow::runtime {

std::string RunningPlace::node_text() const {
  if (node_ == nullptr)
    return {};
  return "node " + core::quote(node_->spec.name) + " (" + core::printable(node_->spec.kind) + ")";
}

std::exception_ptr RunningPlace::describe_failure() const {
  std::string message;
  try {
    throw;
  } catch (const std::exception &error) {
    message = error.what();
  } catch (...) {
    message = "an exception that is no std::exception";
  }
  std::string place = section_;
  std::string name;
  if (node_ != nullptr) {
    name = node_->spec.name;
    place = node_text() + ", " + phase_ + (section_.empty() ? "" : ", in " + section_);
  }
  core::TaskError error("running: " + place + ": " + message);
  error.pass = "running";
  error.node = name;
  return std::make_exception_ptr(error);
}

}  // namespace holoflow::runtime
