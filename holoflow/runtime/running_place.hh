// SPDX-License-Identifier: LGPL-2.1-or-later
// Where a section is, for the message of an error.
#pragma once

#include <exception>
#include <string>

#include "holoflow/core/error.hh"
#include "holoflow/runtime/graph_exec.hh"

namespace holoflow::runtime {

/// Threads: one.
class RunningPlace {
public:
  /// `section` is its name, empty where none runs yet.
  explicit RunningPlace(std::string section) : section_(std::move(section)) {}

  /// `phase` is a literal.
  void enter(const NodePlan &node, const char *phase) {
    node_ = &node;
    phase_ = phase;
  }
  /// Whether a sink is running: a synchronous node without outputs.
  [[nodiscard]] bool is_in_sink() const {
    return node_ != nullptr && node_->infer.kind == core::TaskKind::Sync && node_->out_tids.empty();
  }

  /// `node "fft" (FFT2)`, "" before any.
  [[nodiscard]] std::string node_text() const;

  /// The exception in flight as a TaskError that says where it was thrown.
  [[nodiscard]] std::exception_ptr describe_failure() const;

private:
  const std::string section_;
  const NodePlan *node_ = nullptr;
  const char *phase_ = "";
};

}  // namespace holoflow::runtime
