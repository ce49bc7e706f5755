// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors that hold several faults.
#include "holoflow/core/error.hh"

#include <utility>

namespace holoflow::core {

namespace {

std::string what_of(const FaultList &faults) {
  return faults.empty() ? "internal error: an error without a fault" : to_text(faults);
}

// The place of the whole is that of its first fault.
void take_place(Error &whole, const FaultList &faults) {
  if (faults.empty())
    return;
  const Error &first = faults.front();
  whole.pass = first.pass;
  whole.node = first.node;
  whole.slot = first.slot;
  whole.pointer = first.pointer;
  whole.line = first.line;
  whole.column = first.column;
}

}  // namespace

std::string to_text(const FaultList &faults) {
  std::string text;
  for (const Error &fault : faults) {
    if (!text.empty())
      text += '\n';
    text += fault.what();
  }
  if (faults.unlisted() > 0)
    text += "\nand " + std::to_string(faults.unlisted()) + " more";
  return text;
}

GraphError::GraphError(FaultList faults, Reason reason)
    : Error(what_of(faults), reason), faults(std::move(faults)) {
  take_place(*this, this->faults);
}

CompileError::CompileError(FaultList faults) : Error(what_of(faults)), faults(std::move(faults)) {
  take_place(*this, this->faults);
  if (!this->faults.empty())
    this->reason = this->faults.front().reason;
}

}  // namespace holoflow::core
