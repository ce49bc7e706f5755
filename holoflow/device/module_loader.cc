// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds and loads libholoflow-cuda.so when a graph first asks for a GPU.
#include "holoflow/device/module_loader.hh"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "holoflow/core/error.hh"
#include "holoflow/core/module.hh"

namespace holoflow::runtime {

namespace {

#ifdef HOLOFLOW_VERSION
static_assert(
    std::string_view(HOLOFLOW_VERSION) == HOLOFLOW_RELEASE,
    "the release in holoflow/core/module.hh is not the project's version");
#endif

constexpr const char *module_file = "libholoflow-cuda.so";
constexpr const char *mark = "libholoflow-cuda";

template <typename Function> Function find_entry(void *library, const char *name) {
  Function function = nullptr;
  void *symbol = dlsym(library, name);
  static_assert(sizeof(function) == sizeof(symbol));
  std::memcpy(&function, &symbol, sizeof(function));
  return function;
}

// The module at `path`, or one without entries and the reason in `why`. A refused library stays
// loaded: its CUDA runtime would not survive dlclose.
CudaModule open_module(const std::filesystem::path &path, std::string &why) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    why = "not there";
    return {};
  }
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *text = dlerror();
    why = text != nullptr ? text : "cannot be loaded";
    return {};
  }
  const auto abi = find_entry<const char *(*)()>(library, "holoflow_module_abi");
  CudaModule module{
      path, find_entry<void (*)(core::Registry &)>(library, "holoflow_register"),
      find_entry<CudaDeviceEntry>(library, "holoflow_cuda_device")};
  if (abi == nullptr || module.register_tasks == nullptr || module.device == nullptr) {
    why = "not a CUDA module of Holoflow: holoflow_module_abi, holoflow_register or "
          "holoflow_cuda_device is missing";
    return {};
  }
  const std::string_view found = abi();
  if (found != HOLOFLOW_MODULE_ABI) {
    why = "made for \"" + std::string(found) + "\", but the library is \"" + HOLOFLOW_MODULE_ABI +
        "\"; build both together";
    return {};
  }
  return module;
}

ModuleLoader &loader() {
  static ModuleLoader loader(module_folders());
  return loader;
}

}  // namespace

std::vector<std::filesystem::path> module_folders() {
  std::vector<std::filesystem::path> folders;
  Dl_info library{};
  // Not made canonical: a link to the library elsewhere chooses the module that lies there.
  if (dladdr(reinterpret_cast<const void *>(&module_folders), &library) != 0 &&
      library.dli_fname != nullptr) {
    auto folder = std::filesystem::path(library.dli_fname).parent_path();
    folders.push_back(folder.empty() ? std::filesystem::path(".") : std::move(folder));
  }
#ifdef HOLOFLOW_MODULE_DIR
  folders.emplace_back(HOLOFLOW_MODULE_DIR);
#endif
  const char *variable = std::getenv("HOLOFLOW_MODULE_PATH");
  std::string_view rest = variable != nullptr ? variable : "";
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    if (!folder.empty())
      folders.emplace_back(folder);
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return folders;
}

const CudaModule &ModuleLoader::load() {
  const std::lock_guard lock(mutex_);
  if (module_.device != nullptr)
    return module_;
  std::string searched;
  for (const auto &folder : folders_) {
    const auto path = folder / module_file;
    std::string why;
    module_ = open_module(path, why);
    if (module_.device != nullptr)
      return module_;
    searched += (searched.empty() ? "" : "; ") + path.string() + " (" + why + ")";
  }
  throw core::DeviceError(
      "no CUDA: the module " + std::string(module_file) + " was not found; searched " +
          (searched.empty() ? "nowhere" : searched) +
          "; install it or name its folder in HOLOFLOW_MODULE_PATH",
      core::Reason::NoDevice);
}

Device &ModuleLoader::device(int index) {
  std::array<char, 1024> why{};
  Device *device = load().device(index, why.data(), why.size());
  if (device == nullptr)
    throw core::DeviceError(why.data(), core::Reason::NoDevice);
  return *device;
}

void ModuleLoader::register_tasks(core::Registry &registry) {
  const CudaModule &module = load();
  const std::lock_guard lock(mutex_);
  // The mark lives and moves with the registry; its address says nothing once it has been reused.
  if (registry.is_marked(mark))
    return;
  module.register_tasks(registry);
  registry.mark(mark);
}

Device &cuda_device(int index) {
  return loader().device(index);
}

void register_cuda_tasks(core::Registry &registry) {
  loader().register_tasks(registry);
}

}  // namespace holoflow::runtime
