// SPDX-License-Identifier: LGPL-2.1-or-later
#include "under_shim.hh"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace holoflow::bench {

namespace {

namespace fs = std::filesystem;

constexpr const char *mark = "HOLOFLOW_BENCH_UNDER_SHIM";

void prepend(const char *variable, const std::string &value) {
  const char *old = std::getenv(variable);
  const std::string rest = old != nullptr && *old != '\0' ? std::string(":") + old : "";
  setenv(variable, (value + rest).c_str(), 1);
}

}  // namespace

bool runs_under_shim() {
  return std::getenv(mark) != nullptr;
}

void run_again_under_shim(const std::string &tests, char **argv) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const fs::path folder = (program.parent_path() / tests).lexically_normal();
  const fs::path shim = folder / "bench" / "libholoflow-counting-shim.so";
  if (!fs::exists(shim))
    throw std::runtime_error("the counting shim " + shim.string() + " is not there");
  prepend("LD_PRELOAD", shim.string());
  // Not there in builds without CUDA.
  if (const fs::path module = folder / "shared_cudart"; fs::exists(module))
    prepend("LD_LIBRARY_PATH", module.string());
  setenv(mark, "1", 1);
  execv(program.c_str(), argv);
  throw std::runtime_error("cannot start " + program.string() + ": " + std::strerror(errno));
}

void *find_in_shim(const char *name) {
  void *symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr)
    throw std::runtime_error(
        std::string("the counting shim was not loaded, although LD_PRELOAD names it: no ") + name);
  return symbol;
}

}  // namespace holoflow::bench
