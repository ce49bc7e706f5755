// SPDX-License-Identifier: LGPL-2.1-or-later
// Starts again under the counting shim, then runs the tests.
#include <gtest/gtest.h>

#include <exception>
#include <iostream>

#include "tests/bench/under_shim.hh"

int main(int argc, char **argv) {
  try {
    if (!holoflow::bench::runs_under_shim())
      holoflow::bench::run_again_under_shim(".", argv);
  } catch (const std::exception &error) {
    std::cerr << "test_faults: " << error.what() << std::endl;
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
