// SPDX-License-Identifier: LGPL-2.1-or-later
// Every graph of examples/ and every graph shown in docs/ compiles and runs on the CPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/graph_runner.hh"

namespace {

using namespace holoflow;
namespace fs = std::filesystem;

fs::path root() {
  const char *folder = std::getenv("HOLOFLOW_SOURCE_ROOT");
  return folder != nullptr ? fs::path(folder) : fs::current_path();
}

std::string text_of(const fs::path &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The text between ```json and ``` of a page, block by block.
std::vector<std::string> json_blocks(const std::string &page) {
  std::vector<std::string> blocks;
  const std::string open = "```json\n", close = "```";
  for (size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    blocks.push_back(page.substr(at, page.find(close, at) - at));
  }
  return blocks;
}

/// Ten grey frames in, ten tensors out.
void runs(const std::string &json) {
  const auto spec = core::GraphSpec::from_json(json);
  const core::TDesc frame({1, 48, 64}, core::DType::U8, core::MemLoc::Host);
  runtime::CompilerConfig config{.device = runtime::CompilerConfig::Device::Cpu};
  std::string input, output;
  for (const auto &node : spec.nodes) {
    if (node.kind == "Input")
      config.inputs[input = node.name] = frame;
    if (node.kind == "Output")
      output = node.name;
  }
  auto runner = runtime::GraphRunner::from_json(json, config);
  const std::vector<uint8_t> pixels(frame.num_bytes(), 77);
  std::jthread feeder([&] {
    for (int i = 0; i < 10; ++i)
      EXPECT_TRUE(runner.push(input, pixels.data(), frame));
    runner.end();
  });
  int count = 0;
  while (runner.pop(output))
    ++count;
  EXPECT_EQ(count, 10);
}

TEST(Examples, EveryGraphRuns) {
  int graphs = 0;
  for (const auto &entry : fs::directory_iterator(root() / "examples" / "graphs")) {
    SCOPED_TRACE(entry.path().filename().string());
    ASSERT_NO_THROW(runs(text_of(entry.path())));
    ++graphs;
  }
  EXPECT_GE(graphs, 4);
}

TEST(Examples, EveryGraphInTheDocsRuns) {
  if (!fs::exists(root() / "docs"))
    GTEST_SKIP() << "no docs beside this program";
  int graphs = 0;
  for (const auto &entry : fs::directory_iterator(root() / "docs")) {
    if (entry.path().extension() != ".md")
      continue;
    for (const auto &block : json_blocks(text_of(entry.path()))) {
      SCOPED_TRACE(entry.path().filename().string());
      ASSERT_NO_THROW(runs(block));
      ++graphs;
    }
  }
  EXPECT_GE(graphs, 1);
}

}  // namespace
