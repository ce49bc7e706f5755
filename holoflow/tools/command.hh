// SPDX-License-Identifier: LGPL-2.1-or-later
// What the sub-commands share: how one is added, what it answers, how it prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "holoflow/core/error.hh"

namespace holoflow::tools {

/// Exit statuses. Usage stands for a command line that cannot be understood.
enum Status { Good = 0, Bad = 1, Usage = 2 };

// Each adds its sub-command, which sets `status` when it runs. In the file of the same name.
void add_bench(CLI::App &app, int &status);
void add_check(CLI::App &app, int &status);
void add_plan(CLI::App &app, int &status);
void add_tasks(CLI::App &app, int &status);
void add_run(CLI::App &app, int &status);
void add_doctor(CLI::App &app, int &status);

/// One line to standard error; control characters become blanks, so that a fault stays one line.
void print_fault(const std::string &text);
/// A line for each, then "and 12 more" where not all are listed.
void print_faults(const core::BasicFaultList<std::string> &faults);
/// To standard output as it is.
void print(const std::string &text);

}  // namespace holoflow::tools
