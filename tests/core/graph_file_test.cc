// SPDX-License-Identifier: LGPL-2.1-or-later
// Graph files on disk, and telling files, JSON and chains apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "graph_faults.hh"
#include "holoflow/core/graph_json.hh"

namespace holoflow::core {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

const std::vector<std::string> known{"Input", "Output", "Upload"};

// A folder of its own that is the working directory while the test runs.
class GraphFile : public testing::Test {
protected:
  GraphFile() {
    std::string pattern = (fs::temp_directory_path() / "holoflow-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    before_ = fs::current_path();
    fs::current_path(folder_);
  }
  ~GraphFile() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  static void write(const fs::path &path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static GraphError error_of(const std::string &text) {
    try {
      (void)GraphSpec::from_text(text, known);
    } catch (const GraphError &error) {
      return error;
    }
    return GraphError({Error("no error")});
  }

  fs::path folder_;
  fs::path before_;
};

TEST_F(GraphFile, FaultsNameTheFileAndThePlace) {
  write("bad.json", "{\n  \"nodes\": []}");
  const auto error = error_of("bad.json");
  EXPECT_STREQ(
      error.what(),
      "bad.json, line 2, column 12, /nodes: expected an object of nodes by name, got an "
      "array");
  EXPECT_EQ(error.reason, GraphError::Reason::BadGraph);
}

TEST_F(GraphFile, WhatCannotBeReadHasItsOwnReason) {
  const auto missing = error_of("missing.json");
  const std::string path = (fs::current_path() / "missing.json").string();
  EXPECT_EQ(
      std::string(missing.what()),
      "graph file \"missing.json\": there is no such file; looked for \"" + path + "\"");
  EXPECT_EQ(
      std::string(error_of(path).what()), "graph file \"" + path + "\": there is no such file");
  EXPECT_EQ(missing.reason, GraphError::Reason::FileNotFound);
  fs::create_directory("folder.json");
  const auto folder = error_of("folder.json");
  EXPECT_STREQ(folder.what(), "graph file \"folder.json\": expected a file, got a folder");
  EXPECT_EQ(folder.reason, GraphError::Reason::FileNotFound);
  write("secret.json", "{}");
  fs::permissions("secret.json", fs::perms::none);
  if (geteuid() != 0) {
    EXPECT_STREQ(
        error_of("secret.json").what(),
        "graph file \"secret.json\": cannot be opened: Permission denied");
  }
}

TEST_F(GraphFile, FilesWithoutEndAreNotReadToTheEnd) {
  const auto error = error_of("/dev/zero");
  EXPECT_STREQ(error.what(), "/dev/zero: expected at most 8388608 bytes, got more");
}

TEST_F(GraphFile, AnExistingFileComesFirst) {
  write("upload", R"({"nodes": {"from_file": {"type": "X"}}})");
  EXPECT_EQ(GraphSpec::from_text("upload", known).nodes[0].name, "from_file");
  write("a ! b", R"({"nodes": {"blanks": {"type": "X"}}})");
  EXPECT_EQ(GraphSpec::from_text("a ! b", known).nodes[0].name, "blanks");
  write("{}", R"({"nodes": {"braces": {"type": "X"}}})");
  EXPECT_EQ(GraphSpec::from_text("{}", known).nodes[0].name, "braces");
}

TEST_F(GraphFile, AnyFormCanBeReadPastItsFaults) {
  write("half.json", R"({"nodes": {"good": {"type": "X"}, "bad": {"typ": "X"}}})");
  const auto file = read_graph_text("half.json", known);
  ASSERT_EQ(file.graph.nodes.size(), 1u);
  EXPECT_EQ(file.graph.nodes[0].name, "good");
  ASSERT_EQ(file.faults.size(), 2u);
  EXPECT_THAT(file.faults[0].what(), StartsWith("half.json, line 1, column "));
  const auto text =
      read_graph_text(R"({"nodes": {"good": {"type": "X"}}, "edges": ["->"]})", known);
  EXPECT_EQ(text.graph.nodes.size(), 1u);
  ASSERT_FALSE(text.faults.empty());
  EXPECT_THAT(text.faults[0].what(), StartsWith("graph, line 1, column "));
  const auto chain = read_graph_text("uplod", known);
  EXPECT_TRUE(chain.graph.nodes.empty());
  ASSERT_EQ(chain.faults.size(), 1u);
  EXPECT_THAT(chain.faults[0].what(), HasSubstr("did you mean \"Upload\"?"));
  EXPECT_THROW((void)read_graph_text("no/such.json", known), GraphError);
}

TEST_F(GraphFile, AFolderIsNoFile) {
  fs::create_directory("upload");
  EXPECT_EQ(GraphSpec::from_text("upload", known).nodes[1].name, "upload");
}

TEST_F(GraphFile, ABraceMeansJson) {
  EXPECT_EQ(
      GraphSpec::from_text(" \n\t{\"nodes\": {\"a\": {\"type\": \"X\"}}}", known).nodes.size(), 1u);
  EXPECT_THAT(
      error_of("{nodes/x.json").what(), StartsWith("graph, line 1, column 2: expected a key"));
}

TEST_F(GraphFile, AWordWithASlashOrTheEndingIsAMissingFile) {
  for (const char *text : {"no/such", "./upload", "graph.json", "a/b.json"}) {
    const auto error = error_of(text);
    EXPECT_EQ(error.reason, GraphError::Reason::FileNotFound) << text;
    EXPECT_THAT(error.what(), HasSubstr("there is no such file")) << text;
  }
}

TEST_F(GraphFile, EverythingElseIsAChain) {
  EXPECT_EQ(GraphSpec::from_text("upload", known).nodes.size(), 3u);
  EXPECT_EQ(GraphSpec::from_text("input caps=video/x-raw ! upload", known).nodes.size(), 3u);
  for (const char *text : {"", "   ", "graph.jsn", "[1]", "no such/file.json"}) {
    const auto error = error_of(text);
    EXPECT_THAT(error.what(), StartsWith("chain, column ")) << text;
    EXPECT_EQ(error.reason, GraphError::Reason::BadGraph) << text;
  }
}

TEST_F(GraphFile, TextsThatAreNoPathsAtAllAreChains) {
  EXPECT_THAT(error_of(std::string(100000, 'x')).what(), StartsWith("chain, column 1: unknown"));
  EXPECT_THAT(error_of(std::string("upload\0x", 8)).what(), StartsWith("chain, column 1: unknown"));
}

}  // namespace
}  // namespace holoflow::core
