// SPDX-License-Identifier: LGPL-2.1-or-later
// holoflow doctor: what of everything Holoflow can use is there, and how to get the rest.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/device/module_loader.hh"
#include "holoflow/runtime/graph_runner.hh"
#include "holoflow/tools/command.hh"
#include "holoflow/tools/subprocess.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

/// Broken: it is there, or must be, and does not work. Only that makes the command fail.
enum class State { Ok, Missing, Broken };

class Report {
public:
  void add(State state, const std::string &what, const std::string &text) {
    const char *word = state == State::Ok ? "ok       "
        : state == State::Missing         ? "missing  "
                                          : "broken   ";
    print(word + what + ": " + text + "\n");
    broken_ = broken_ || state == State::Broken;
  }
  [[nodiscard]] bool broken() const { return broken_; }

private:
  bool broken_ = false;
};

std::string first_line(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

void check_library(Report &report) {
  // One frame through a graph on the CPU: what must work everywhere.
  try {
    runtime::CompilerConfig config;
    config.device = runtime::CompilerConfig::Device::Cpu;
    config.inputs["input"] = core::TDesc({1, 2, 2}, core::DType::U8, core::MemLoc::Host);
    auto runner = runtime::GraphRunner::from_chain("conversion target=F32", config);
    const std::array<unsigned char, 4> frame = {0, 1, 2, 3};
    const bool pushed = runner.push("input", frame.data(), config.inputs["input"]);
    runner.end();
    const auto result = runner.pop("output");
    if (!pushed || !result)
      throw std::runtime_error("the graph gave no frame");
    report.add(State::Ok, "library", "holoflow " HOLOFLOW_VERSION ", a graph runs on the CPU");
  } catch (const std::exception &error) {
    report.add(
        State::Broken, "library",
        std::string("a graph does not run on the CPU: ") + error.what() + "; build it anew");
  }
}

void check_driver(Report &report) {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string version;
  if (std::getline(file, version))
    report.add(State::Ok, "NVIDIA driver", version);
  else
    report.add(
        State::Missing, "NVIDIA driver",
        "graphs run on the CPU; for a GPU install Debian's package nvidia-driver (CUDA 13 needs "
        "580 or later)");
}

/// Whether a module file lies in any of the folders.
bool module_is_there() {
  const auto folders = runtime::module_folders();
  return std::any_of(folders.begin(), folders.end(), [](const fs::path &folder) {
    std::error_code error;
    return fs::exists(folder / "libholoflow-cuda.so", error);
  });
}

void check_cuda(Report &report) {
  runtime::ModuleLoader loader(runtime::module_folders());
  try {
    report.add(State::Ok, "CUDA module", loader.load().path.string());
  } catch (const std::exception &error) {
    report.add(
        module_is_there() ? State::Broken : State::Missing, "CUDA module",
        std::string(error.what()) + "; build it with -Dcuda=enabled (needs nvcc of CUDA 13)");
    report.add(State::Missing, "GPU", "nobody can look for one without the CUDA module");
    return;
  }
  try {
    report.add(State::Ok, "GPU", loader.device(-1).name());
  } catch (const std::exception &error) {
    report.add(State::Missing, "GPU", error.what());
  }
}

void check_cufft(Report &report) {
  for (const char *name : {"libcufft.so.12", "libcufft.so"}) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr)
      continue;
    // Not closed: the library keeps memory of its own, and the program ends soon.
    report.add(State::Ok, "cuFFT", name);
    return;
  }
  report.add(
      State::Missing, "cuFFT",
      "transforms run on the CPU only; for a GPU install NVIDIA's package libcufft-13-0, or add "
      "its "
      "folder to LD_LIBRARY_PATH");
}

bool exists_element(const std::string &name) {
  const auto result = run_process({"gst-inspect-1.0", "--exists", name});
  return result.started && result.status == 0;
}

void check_plugin(Report &report) {
  const auto result = run_process({"gst-inspect-1.0", "holoflowbin"});
  if (result.status != 0) {
    report.add(
        State::Missing, "element holoflowbin",
        "name the folder of libgstholoflow.so in GST_PLUGIN_PATH_1_0, or open a shell with "
        "\"meson devenv\"");
    return;
  }
  std::string place = "found";
  const size_t at = result.output.find("Filename");
  if (at != std::string::npos) {
    place = first_line(result.output.substr(at + 8));
    place.erase(0, place.find_first_not_of(' '));
  }
  report.add(State::Ok, "element holoflowbin", place);
}

void check_elements(Report &report) {
  struct Element {
    const char *name;
    const char *use;
    const char *source;
  };
  constexpr std::array<Element, 9> elements{{
      {"decodebin", "reads any media file", "gstreamer1.0-plugins-base"},
      {"pngenc", "PNG", "gstreamer1.0-plugins-good"},
      {"vp8enc", "VP8 video", "gstreamer1.0-plugins-good"},
      {"x264enc", "H.264 video", "gstreamer1.0-plugins-ugly"},
      {"openh264enc", "H.264 video", "gstreamer1.0-plugins-bad"},
      {"nvh264enc", "H.264 video on the GPU", "gstreamer1.0-plugins-bad and the NVIDIA driver"},
      {"avenc_ffv1", "lossless video, 16 bits too", "gstreamer1.0-libav"},
      {"mp4mux", "MP4 files", "gstreamer1.0-plugins-good"},
      {"matroskamux", "Matroska files", "gstreamer1.0-plugins-good"},
  }};
  for (const Element &element : elements) {
    const std::string what = std::string("element ") + element.name;
    if (exists_element(element.name))
      report.add(State::Ok, what, element.use);
    else
      report.add(State::Missing, what, std::string(element.use) + "; install " + element.source);
  }
}

void check_gstreamer(Report &report) {
  const auto version = run_process({"gst-inspect-1.0", "--version"});
  if (!version.started) {
    report.add(
        State::Missing, "GStreamer",
        "nobody can look for its elements; install gstreamer1.0-tools");
    return;
  }
  const size_t at = version.output.find("GStreamer");
  report.add(
      version.status == 0 ? State::Ok : State::Broken, "GStreamer",
      at != std::string::npos ? first_line(version.output.substr(at)) : first_line(version.errors));
  check_plugin(report);
  check_elements(report);
}

void check_program(
    Report &report, const std::vector<std::string> &command, const std::string &use,
    const std::string &package) {
  const auto result = run_process(command);
  if (result.started)
    report.add(State::Ok, command[0], use);
  else
    report.add(State::Missing, command[0], use + "; install " + package);
}

void check_formats(Report &report) {
#ifdef HOLOFLOW_HAVE_PNG
  report.add(State::Ok, "PNG files", "holoflow run reads and writes them");
#else
  report.add(State::Missing, "PNG files", "install libpng-dev and build again");
#endif
#ifdef HOLOFLOW_HAVE_TIFF
  report.add(State::Ok, "TIFF files", "holoflow run reads and writes them");
#else
  report.add(State::Missing, "TIFF files", "install libtiff-dev and build again");
#endif
}

int examine() {
  Report report;
  check_library(report);
  check_formats(report);
  check_driver(report);
  check_cuda(report);
  check_cufft(report);
  check_gstreamer(report);
  check_program(
      report, {"gst-discoverer-1.0", "--version"}, "holoflow check --like looks at any media file",
      "gstreamer1.0-plugins-base-apps");
  check_program(report, {"dot", "-V"}, "holoflow plan --svg draws", "graphviz");
  return report.broken() ? Bad : Good;
}

}  // namespace

void add_doctor(CLI::App &app, int &status) {
  auto *command = app.add_subcommand("doctor", "Says what is there and how to get what is missing");
  command->callback([&status] { status = examine(); });
}

}  // namespace holoflow::tools
