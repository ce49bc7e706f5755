// SPDX-License-Identifier: LGPL-2.1-or-later
// Finding the CUDA module, refusing a foreign one, and saying what is missing.
#include "holoflow/device/module_loader.hh"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/error.hh"
#include "holoflow/core/module.hh"
#include "holoflow/compiler/choose_device.hh"

namespace holoflow::runtime {
namespace {

using core::DeviceError;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;
namespace fs = std::filesystem;

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "holoflow-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path &path() const { return path_; }

private:
  fs::path path_;
};

// Modules that the build makes for this test, each in a folder of its own.
fs::path built(const char *folder) {
  const char *root = std::getenv("HOLOFLOW_BUILD_ROOT");
  return fs::path(root != nullptr ? root : ".") / "tests" / "device" / folder;
}

class BuiltModules : public testing::Test {
protected:
  // A bundle of test programs comes without them.
  void SetUp() override {
    if (!fs::exists(built("good_module")))
      GTEST_SKIP() << "the test modules are not here";
  }
};

bool is_loaded(std::string_view name) {
  std::pair<std::string_view, bool> search{name, false};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &wanted = *static_cast<std::pair<std::string_view, bool> *>(data);
        if (std::string_view(info->dlpi_name).find(wanted.first) != std::string_view::npos)
          wanted.second = true;
        return 0;
      },
      &search);
  return search.second;
}

bool has_cuda_module() {
  for (const auto &folder : module_folders())
    if (fs::exists(folder / "libholoflow-cuda.so"))
      return true;
  return false;
}

std::string why_no_gpu() {
  try {
    (void)cuda_device();
  } catch (const DeviceError &error) {
    return error.what();
  }
  return "";
}

TEST(ModuleFolders, AreThatOfTheLibraryTheInstalledOneAndThePath) {
  const char *before = getenv("HOLOFLOW_MODULE_PATH");
  const std::string saved = before != nullptr ? before : "";
  setenv("HOLOFLOW_MODULE_PATH", "/first/place::/second:", 1);
  const auto folders = module_folders();
  setenv("HOLOFLOW_MODULE_PATH", saved.c_str(), 1);
  ASSERT_EQ(folders.size(), 4u);
  Dl_info library{};
  ASSERT_NE(dladdr(reinterpret_cast<const void *>(&cuda_device), &library), 0);
  EXPECT_EQ(folders[0], fs::path(library.dli_fname).parent_path());
  EXPECT_EQ(folders[1].filename(), "holoflow");
  EXPECT_EQ(folders[2], "/first/place");
  EXPECT_EQ(folders[3], "/second");
}

TEST(ModuleLoader, AMissingModuleIsNamedWithThePlacesSearched) {
  const TemporaryFolder a;
  const TemporaryFolder b;
  ModuleLoader loader({a.path(), b.path()});
  const std::string expected = "no CUDA: the module libholoflow-cuda.so was not found; searched " +
      a.path().string() + "/libholoflow-cuda.so (not there); " + b.path().string() +
      "/libholoflow-cuda.so (not there); install it or name its folder in HOLOFLOW_MODULE_PATH";
  EXPECT_THAT([&] { (void)loader.load(); }, ThrowsMessage<DeviceError>(expected));
  EXPECT_THAT([&] { (void)loader.device(0); }, ThrowsMessage<DeviceError>(expected));
  core::Registry registry;
  EXPECT_THAT([&] { loader.register_tasks(registry); }, ThrowsMessage<DeviceError>(expected));
  EXPECT_TRUE(registry.keys().empty());
}

TEST(ModuleLoader, ABrokenFileIsReportedInTheLoadersWords) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "libholoflow-cuda.so") << "no library";
  ModuleLoader loader({folder.path()});
  EXPECT_THAT(
      [&] { (void)loader.load(); },
      ThrowsMessage<DeviceError>(HasSubstr("libholoflow-cuda.so: file too short")));
}

TEST_F(BuiltModules, AForeignBuildIsRefusedWithBothTexts) {
  ModuleLoader loader({built("foreign_module")});
  EXPECT_THAT(
      [&] { (void)loader.load(); },
      ThrowsMessage<DeviceError>(
          HasSubstr("made for \"holoflow 0.0.1, nlohmann::json_abi_none, gcc 1\", but the "
                    "library is \"" HOLOFLOW_MODULE_ABI "\"; build both together")));
}

TEST_F(BuiltModules, ALibraryThatIsNoModuleIsRefused) {
  ModuleLoader loader({built("no_module")});
  EXPECT_THAT(
      [&] { (void)loader.load(); },
      ThrowsMessage<DeviceError>(HasSubstr("not a CUDA module of Holoflow")));
}

TEST_F(BuiltModules, TheFirstModuleThatFitsIsTakenAndKept) {
  const TemporaryFolder empty;
  ModuleLoader loader({empty.path(), built("foreign_module"), built("good_module")});
  const CudaModule &module = loader.load();
  EXPECT_EQ(module.path, built("good_module") / "libholoflow-cuda.so");
  EXPECT_EQ(&loader.load(), &module);
}

TEST_F(BuiltModules, AModuleThatAppearsLaterIsFound) {
  const TemporaryFolder folder;
  ModuleLoader loader({folder.path()});
  EXPECT_THROW((void)loader.load(), DeviceError);
  fs::copy_file(
      built("good_module") / "libholoflow-cuda.so", folder.path() / "libholoflow-cuda.so");
  EXPECT_EQ(loader.load().path.parent_path(), folder.path());
}

// The module of this test answers every device with one sentence and registers "FromModule".
TEST_F(BuiltModules, TheModulesSentenceBecomesADeviceError) {
  ModuleLoader loader({built("good_module")});
  EXPECT_THAT(
      [&] { (void)loader.device(7); }, ThrowsMessage<DeviceError>("the test module has no GPU 7"));
}

TEST_F(BuiltModules, TasksAreAddedOnceToEachRegistry) {
  ModuleLoader loader({built("good_module")});
  core::Registry registry;
  loader.register_tasks(registry);
  EXPECT_TRUE(registry.is_sync_registered("FromModule"));
  // A second time would throw: the name is taken.
  loader.register_tasks(registry);
  // A registry at the address of an earlier one is another registry.
  registry = core::Registry();
  loader.register_tasks(registry);
  EXPECT_TRUE(registry.is_sync_registered("FromModule"));
}

TEST(CudaModule, WithoutDriverOrGpuSaysWhatIsMissing) {
  const std::string why = why_no_gpu();
  if (why.empty())
    GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(why, StartsWith("no CUDA: "));
  if (!has_cuda_module()) {
    EXPECT_THAT(why, HasSubstr("the module libholoflow-cuda.so was not found"));
    return;
  }
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    EXPECT_EQ(
        why, "no CUDA: the NVIDIA driver is missing (libcuda.so.1 cannot be loaded); install it");
  } else {
    dlclose(driver);
    EXPECT_THAT(why, HasSubstr("driver"));
  }
  EXPECT_TRUE(is_loaded("libholoflow-cuda.so"));
  EXPECT_FALSE(is_loaded("libcufft"));
}

TEST(CudaModule, CompletesTheBuiltInTypesAndOnlyThem) {
  if (!has_cuda_module())
    GTEST_SKIP() << "built without the CUDA module";
  core::Registry builtin;
  register_builtin_tasks(builtin);
  const auto before = builtin.keys();
  register_cuda_tasks(builtin);
  register_cuda_tasks(builtin);
  EXPECT_EQ(builtin.keys(), before);
  core::Registry own;
  core::add_kernel(own, "Mine", [](auto, auto, const auto &, auto) {});
  register_cuda_tasks(own);
  EXPECT_EQ(own.keys(), std::vector<std::string>{"Mine"});
}

using Wanted = CompilerConfig::Device;

TEST(ChooseDevice, CpuIsTheCpuWithoutANote) {
  const auto choice = choose_device(Wanted::Cpu, 5, true);
  EXPECT_EQ(choice.device, &host_device());
  EXPECT_EQ(choice.note, "");
}

TEST(ChooseDevice, AutoTakesTheCpuWhereTheGraphHasNoUseForAGpu) {
  const auto choice = choose_device(Wanted::Auto, -1, false);
  EXPECT_EQ(choice.device, &host_device());
  EXPECT_EQ(
      choice.note,
      "the graph runs on the CPU, since it has neither an Upload nor a Memcpy to the device");
}

TEST(ChooseDevice, AutoTakesTheGpuOrSaysWhyNot) {
  const auto choice = choose_device(Wanted::Auto, -1, true);
  const std::string why = why_no_gpu();
  if (why.empty()) {
    EXPECT_EQ(choice.device, &cuda_device());
    EXPECT_EQ(choice.note, "");
  } else {
    EXPECT_EQ(choice.device, &host_device());
    EXPECT_EQ(choice.note, "the graph runs on the CPU: " + why);
  }
}

TEST(ChooseDevice, CudaIsAGpuOrAnError) {
  const std::string why = why_no_gpu();
  if (why.empty())
    EXPECT_EQ(choose_device(Wanted::Cuda, -1, false).device, &cuda_device());
  else
    EXPECT_THAT(
        [] { (void)choose_device(Wanted::Cuda, -1, false); }, ThrowsMessage<DeviceError>(why));
}

}  // namespace
}  // namespace holoflow::runtime
