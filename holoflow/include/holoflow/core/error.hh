// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors: where, expected, got, what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace holoflow::core {

/// One fault. what() is the whole sentence with its place in front.
class Error : public std::runtime_error {
public:
  explicit Error(const std::string &message) : std::runtime_error(message) {}

  std::string pass;  ///< compiler pass or phase, "" if none
  std::string node;  ///< node name, "" if none
  int slot = -1;  ///< slot index, -1 if none
  std::string pointer;  ///< JSON pointer (RFC 6901) into the graph file, "" if unknown
  int line = 0;  ///< from 1, 0 if unknown
  int column = 0;  ///< from 1 in bytes, 0 if unknown
};

/// A graph text (JSON or chain) that cannot be read, or a file that is missing. Holds every fault
/// found; what() joins them by line.
class GraphError : public Error {
public:
  /// A file that is not there differs from a bad graph: the element posts another error code.
  enum class Reason { BadGraph, FileNotFound };

  explicit GraphError(std::vector<Error> faults, Reason reason = Reason::BadGraph);

  std::vector<Error> faults;
  Reason reason;
};

/// A graph that does not compile. Holds every fault found; what() joins them by line.
class CompileError : public Error {
public:
  explicit CompileError(std::vector<Error> faults);

  std::vector<Error> faults;
};

/// A task that failed while the graph ran; `node` says which.
class TaskError : public Error {
public:
  using Error::Error;
};

/// No driver, no GPU, no CUDA module, or a call to the device that failed.
class DeviceError : public Error {
public:
  using Error::Error;
};

}  // namespace holoflow::core
