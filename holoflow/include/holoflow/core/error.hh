// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors: where, expected, got, what to do.
#pragma once

#include <stdexcept>
#include <string>

#include "holoflow/core/fault_list.hh"

namespace holoflow::core {

/// Why something failed. For programs: sentences may change from one release to the next, reasons
/// stay what they are. New ones are added at the end.
enum class Reason {
  Other,  ///< none of those below: the message of a program's own Error

  // The text of a graph.
  BadGraph,  ///< syntax, keys, types of values, names, short edges, sub-graphs
  FileNotFound,  ///< a graph file that is not there or cannot be read
  TooLarge,  ///< more bytes, levels, nodes, edges or a longer name than a graph may have

  // A graph by itself.
  UnknownType,  ///< a node of a type that is not registered
  BadParam,  ///< a param that the type does not have, or a value that it never takes
  BadEdge,  ///< a node or slot that does not exist, a gap in the inputs, two producers of one input
  BadConfig,  ///< an option of the compiler, or an Input named there, that does not exist
  AsyncNeighbours,  ///< two asynchronous nodes without a synchronous one between them
  Cycle,  ///< nodes or sections that would wait for themselves

  // A graph with its tensors.
  MissingInput,  ///< an input that the task requires is not connected
  MissingTensor,  ///< the compiler does not know what an Input gets
  Incompatible,  ///< the task refuses these inputs with these params: element type, shape, axes
  BrokenTask,  ///< a task or its factory broke a rule of its interface
  NotChecked,  ///< nodes after a node with a fault; they may have faults of their own
  UnreadOutput,  ///< an output of an asynchronous node that no node reads
  Ownership,  ///< two tasks want to own the same memory
  Overwrite,  ///< memory would be overwritten although another node still reads it
  Rates,  ///< frame rates that disagree, or cannot be reached, where paths meet
  OverBudget,  ///< the graph takes more memory than the budget of the compiler

  // Making and running.
  CreateFailed,  ///< a task could not be made or updated
  NoDevice,  ///< no driver, no GPU of this index, no CUDA module, no code for a task on the GPU
  DeviceFailed,  ///< a call to the device failed
  OutOfMemory,  ///< the host or the device has no memory left
  TaskFailed,  ///< a task failed while the graph ran

  NotRecorded,  ///< replay is required, but this work cannot be recorded
};

/// One fault. what() is the whole sentence with its place in front.
class Error : public std::runtime_error {
public:
  explicit Error(const std::string &message, Reason reason = Reason::Other)
      : std::runtime_error(message), reason(reason) {}

  std::string pass;  ///< compiler pass or phase, "" if none
  std::string node;  ///< node name, "" if none
  int slot = -1;  ///< slot index, -1 if none
  std::string pointer;  ///< JSON pointer (RFC 6901) into the graph file, "" if unknown
  int line = 0;  ///< from 1, 0 if unknown
  int column = 0;  ///< from 1 in bytes, 0 if unknown
  Reason reason;
};

/// What a factory throws from infer() to give its refusal a reason. Any other exception counts as
/// Reason::Incompatible.
class Refusal : public std::invalid_argument {
public:
  Refusal(Reason reason, const std::string &message)
      : std::invalid_argument(message), reason(reason) {}

  Reason reason;
};

/// The faults of one graph.
using FaultList = BasicFaultList<Error>;

/// The sentences line by line; then "and 12 more" where not all are listed.
[[nodiscard]] std::string to_text(const FaultList &faults);

/// A graph text (JSON or chain) that cannot be read, or a file that is missing. Holds every fault
/// found; what() joins them by line. The reason of the whole is BadGraph or FileNotFound; each
/// fault has its own.
class GraphError : public Error {
public:
  using Reason = core::Reason;

  explicit GraphError(FaultList faults, Reason reason = Reason::BadGraph);

  FaultList faults;
};

/// A graph that does not compile. Its what() is to_text() of its faults, its reason that of the
/// first.
class CompileError : public Error {
public:
  explicit CompileError(FaultList faults);

  FaultList faults;
};

/// A task that failed while the graph ran; `node` names it.
class TaskError : public Error {
public:
  explicit TaskError(const std::string &message, Reason reason = Reason::TaskFailed)
      : Error(message, reason) {}
};

/// No driver, no GPU, no CUDA module, or a call to the device that failed.
class DeviceError : public Error {
public:
  explicit DeviceError(const std::string &message, Reason reason = Reason::DeviceFailed)
      : Error(message, reason) {}
};

}  // namespace holoflow::core
