// SPDX-License-Identifier: LGPL-2.1-or-later
// What tests of graph texts look at in their faults.
#pragma once

#include <string>
#include <vector>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"

namespace holoflow::test {

/// The faults that `read` reports, empty when it reports none.
template <typename Read> std::vector<core::Error> faults_of(Read &&read) {
  try {
    (void)read();
  } catch (const core::GraphError &error) {
    return error.faults;
  }
  return {};
}

inline std::vector<core::Error> json_faults(std::string_view text) {
  return faults_of([&] { return core::GraphSpec::from_json(text); });
}

inline std::vector<std::string> texts_of(const std::vector<core::Error> &faults) {
  std::vector<std::string> texts;
  for (const auto &fault : faults)
    texts.emplace_back(fault.what());
  return texts;
}

}  // namespace holoflow::test
