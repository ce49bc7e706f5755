// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors that hold several faults.
#include "holoflow/core/error.hh"

#include <utility>

namespace holoflow::core {

namespace {

std::string join(const std::vector<Error> &faults) {
  std::string text;
  for (const Error &fault : faults) {
    if (!text.empty())
      text += '\n';
    text += fault.what();
  }
  return text.empty() ? "internal error: an error without a fault" : text;
}

// The place of the whole is that of its first fault.
void take_place(Error &whole, const std::vector<Error> &faults) {
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

GraphError::GraphError(std::vector<Error> faults, Reason reason)
    : Error(join(faults), reason), faults(std::move(faults)) {
  take_place(*this, this->faults);
}

CompileError::CompileError(std::vector<Error> faults)
    : Error(join(faults)), faults(std::move(faults)) {
  take_place(*this, this->faults);
  if (!this->faults.empty())
    this->reason = this->faults.front().reason;
}

}  // namespace holoflow::core
