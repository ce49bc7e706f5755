// SPDX-License-Identifier: LGPL-2.1-or-later
// The command `holoflow`: finds the sub-command and turns what it throws into a sentence.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/near_name.hh"
#include "holoflow/tools/command.hh"

namespace holoflow::tools {

void print_fault(const std::string &text) {
  std::string line = text;
  // A file's name may hold what moves a terminal's cursor.
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  std::fprintf(stderr, "%s\n", line.c_str());
}

void print_faults(const core::BasicFaultList<std::string> &faults) {
  for (const std::string &fault : faults)
    print_fault(fault);
  if (faults.unlisted() > 0)
    print_fault("and " + std::to_string(faults.unlisted()) + " more");
}

void print(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

namespace {

/// What came where a sub-command was expected.
void print_missing_command(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(command->get_name());
  const auto rest = app.remaining();
  print_fault(
      "holoflow: expected " + core::alternatives(names) + ", got " +
      (rest.empty() ? "nothing" : core::quote(rest[0]) + core::suggestion(rest[0], names)));
  print_fault("Run with --help for more information.");
}

int run_command_line(int argc, char **argv) {
  int status = Good;
  CLI::App app{"Checks, explains and runs Holoflow graphs.", "holoflow"};
  app.set_version_flag("--version", "holoflow " HOLOFLOW_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  add_check(app, status);
  add_plan(app, status);
  add_tasks(app, status);
  add_run(app, status);
  add_bench(app, status);
  add_doctor(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError &error) {
    if (!app.get_subcommands().empty())
      return app.exit(error) == 0 ? Good : Usage;
    print_missing_command(app);
    return Usage;
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Good : Usage;
  }
  return status;
}

int guarded(int argc, char **argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const std::bad_alloc &) {
    print_fault("holoflow: not enough memory; use smaller frames or fewer queue slots");
  } catch (const std::exception &error) {
    print_fault(std::string("holoflow: ") + error.what());
  }
  return Bad;
}

}  // namespace

}  // namespace holoflow::tools

int main(int argc, char **argv) {
  const int status = holoflow::tools::guarded(argc, argv);
  // A full disk or a closed pipe shows here at the latest.
  if (std::fflush(stdout) != 0 && status == holoflow::tools::Good) {
    holoflow::tools::print_fault("holoflow: standard output cannot be written; is the disk full?");
    return holoflow::tools::Bad;
  }
  return status;
}
