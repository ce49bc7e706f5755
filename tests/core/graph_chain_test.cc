// SPDX-License-Identifier: LGPL-2.1-or-later
// Chains: the short form of a linear graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_faults.hh"

namespace holoflow::core {
namespace {

using test::faults_of;
using test::texts_of;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> known{"Input", "Output",   "Upload", "Download", "BatchQueue", "FFT",
                                     "FFT2",  "Filter2D", "Affine", "Slice",    "Conversion"};

GraphSpec read(std::string_view text) {
  return GraphSpec::from_chain(text, known);
}

std::vector<std::string> faults(std::string_view text) {
  return texts_of(faults_of([&] { return read(text); }));
}

std::vector<std::string> names(const GraphSpec &graph) {
  std::vector<std::string> names;
  for (const auto &node : graph.nodes)
    names.push_back(node.name);
  return names;
}

nlohmann::json params(std::string_view text) {
  return read(text).nodes.at(1).settings;
}

TEST(Chain, IsALineBetweenAnImpliedInputAndOutput) {
  const auto graph =
      read("upload ! batchqueue ! conversion target=F32 ! filter2d r_outer=60 ! conversion "
           "target=U8 strategy=Scaled ! batchqueue ! download");
  EXPECT_THAT(
      names(graph),
      ElementsAre(
          "input", "upload", "batchqueue", "conversion", "filter2d", "conversion1", "batchqueue1",
          "download", "output"));
  EXPECT_EQ(graph.nodes[0].kind, "Input");
  EXPECT_EQ(graph.nodes[4].kind, "Filter2D");
  EXPECT_EQ(graph.nodes[4].settings.dump(), R"({"r_outer":60})");
  EXPECT_EQ(graph.nodes[5].settings.dump(), R"({"strategy":"Scaled","target":"U8"})");
  ASSERT_EQ(graph.edges.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(graph.edges[i].from, graph.nodes[i].name);
    EXPECT_EQ(graph.edges[i].to, graph.nodes[i + 1].name);
    EXPECT_EQ(graph.edges[i].out_idx + graph.edges[i].in_idx, 0);
  }
}

TEST(Chain, ReadsBackFromItsJson) {
  const auto graph = read("upload ! affine scale=[1, 2] ! fft");
  EXPECT_EQ(GraphSpec::from_json(graph.to_json()).to_json(), graph.to_json());
}

TEST(Chain, TypesAreMetWithoutRegardToCase) {
  EXPECT_EQ(read("FILTER2D").nodes[1].kind, "Filter2D");
  EXPECT_EQ(read("filter2D").nodes[1].kind, "Filter2D");
  // An exact match comes first.
  const auto graph = GraphSpec::from_chain("fft ! FFT", {"FFT", "fft"});
  EXPECT_EQ(graph.nodes[1].kind, "fft");
  EXPECT_EQ(graph.nodes[2].kind, "FFT");
  EXPECT_THAT(names(graph), ElementsAre("input", "fft", "fft1", "output"));
}

TEST(Chain, NamesNeverMeet) {
  EXPECT_THAT(
      names(read("fft ! fft ! fft2 ! fft ! fft2")),
      ElementsAre("input", "fft", "fft1", "fft2", "fft3", "fft21", "output"));
  EXPECT_THAT(
      names(read("fft2 ! fft ! fft ! fft")),
      ElementsAre("input", "fft2", "fft", "fft1", "fft3", "output"));
}

TEST(Chain, WrittenRimsReplaceTheImpliedOnes) {
  const auto graph = read("input as=GRAY ! upload ! OUTPUT format=GRAY8");
  EXPECT_THAT(names(graph), ElementsAre("input", "upload", "output"));
  EXPECT_EQ(graph.nodes[0].settings.dump(), R"({"as":"GRAY"})");
  EXPECT_EQ(graph.nodes[2].settings.dump(), R"({"format":"GRAY8"})");
  EXPECT_THAT(names(read("input")), ElementsAre("input", "output"));
  EXPECT_THAT(names(read("output")), ElementsAre("input", "output"));
}

TEST(Chain, ValuesAreWordsOrJson) {
  EXPECT_EQ(
      params("affine scale=[1, 2.5,-3] offset=-1.5e3 axis=-1").dump(),
      R"({"axis":-1,"offset":-1500.0,"scale":[1,2.5,-3]})");
  EXPECT_EQ(
      params("slice slices=[0, {\"start\": 1, \"step\": 2}, {}]").dump(),
      R"({"slices":[0,{"start":1,"step":2},{}]})");
  EXPECT_EQ(
      params(R"(fft a="x ! \"y\" \u00e9" b=true c=null d="4" e=4 f=4.0 g=video/x-raw,a=1)").dump(),
      R"({"a":"x ! \"y\" é","b":true,"c":null,"d":"4","e":4,"f":4.0,"g":"video/x-raw,a=1"})");
  EXPECT_EQ(params("fft axis = 1").dump(), R"({"axis":1})");
}

TEST(Chain, BlanksDoNotMatterAroundTheMarks) {
  EXPECT_THAT(
      names(read("  upload!fft axis=1!\n\tdownload  ")),
      ElementsAre("input", "upload", "fft", "download", "output"));
}

TEST(Chain, RemembersWhereNodesAndParamsStand) {
  const auto graph = read("upload !\n fft axis=1");
  ASSERT_NE(graph.source, nullptr);
  EXPECT_EQ(graph.source->find("/nodes/fft/type").line, 2);
  EXPECT_EQ(graph.source->find("/nodes/fft/type").column, 2);
  EXPECT_EQ(graph.source->find_key("/nodes/fft/params/axis").column, 6);
  EXPECT_EQ(graph.source->find("/nodes/fft/params/axis").column, 11);
}

TEST(Chain, UnknownTypesAreNamedWithTheNearest) {
  EXPECT_THAT(
      faults("upload ! conversoin target=F32 ! nonsense"),
      ElementsAre(
          "chain, column 10: unknown task type \"conversoin\"; did you mean "
          "\"Conversion\"?",
          "chain, column 34: unknown task type \"nonsense\"; \"holoflow tasks\" lists "
          "the types there are"));
  // Without a list of types nothing is unknown.
  EXPECT_EQ(GraphSpec::from_chain("nonsense", {}).nodes[1].kind, "nonsense");
}

TEST(Chain, FaultsHaveTheirColumn) {
  EXPECT_THAT(faults(""), ElementsAre("chain, column 1: expected a task type, the chain is empty"));
  EXPECT_THAT(faults("  "), ElementsAre(HasSubstr("column 3: expected a task type, the chain is")));
  EXPECT_THAT(
      faults("upload ! ! fft"), ElementsAre("chain, column 10: expected a task type, got \"!\""));
  EXPECT_THAT(faults("! fft"), ElementsAre("chain, column 1: expected a task type, got \"!\""));
  EXPECT_THAT(
      faults("fft !"),
      ElementsAre("chain, column 5: expected a task type behind \"!\", got the end of the "
                  "chain"));
  EXPECT_THAT(
      faults("axis=1 ! fft"),
      ElementsAre("chain, column 1: expected a task type, got \"axis\" with \"=\""));
  EXPECT_THAT(
      faults("conversion F32 ! fft"),
      ElementsAre("chain, column 12: expected param=value or \"!\", got \"F32\""));
  EXPECT_THAT(
      faults("fft axis="),
      ElementsAre("chain, column 9: expected a value for \"axis\", got the end of the "
                  "chain"));
  EXPECT_THAT(
      faults("fft axis= ! fft"),
      ElementsAre("chain, column 11: expected a value for \"axis\", got \"!\""));
  EXPECT_THAT(
      faults("fft norm='ortho'"),
      ElementsAre("chain, column 10: expected a value, got \"'\"; strings stand in double "
                  "quotes"));
  EXPECT_THAT(
      faults("fft axis=1 axis=2"), ElementsAre("chain, column 12: param \"axis\" is there twice"));
  EXPECT_THAT(
      faults("affine scale=[1,2]x"),
      ElementsAre("chain, column 19: expected a blank or \"!\" behind the value, got \"x\""));
  EXPECT_THAT(
      faults("upload !\nfft =3"),
      ElementsAre("chain, line 2, column 5: expected param=value or \"!\", got \"=\""));
}

TEST(Chain, FaultsInJsonValuesAreThoseOfJson) {
  EXPECT_THAT(
      faults("affine scale=[1, 2 ! fft"),
      ElementsAre("chain, line 1, column 20, /nodes/affine/params/scale: expected \",\" or "
                  "\"]\" behind an element, got \"!\""));
  EXPECT_THAT(
      faults(R"(slice slices={"a": 1, "a": 2})"),
      ElementsAre(HasSubstr("/nodes/slice/params/slices/a: duplicate key \"a\"")));
}

TEST(Chain, EveryFaultIsReported) {
  const auto errors =
      faults_of([] { return read(R"(uplod ! fft x ! affine scale=["!] ! fft axis=1 axis=2)"); });
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].column, 1);
  EXPECT_EQ(errors[1].column, 13);
  EXPECT_EQ(errors[1].node, "fft");
  // The string that does not end swallows the rest.
  EXPECT_EQ(errors[2].column, 31);
}

TEST(Chain, RimsStandAtTheRim) {
  EXPECT_THAT(
      faults("upload ! input"),
      ElementsAre("chain, column 10: \"Input\" stands first in a chain or not at all"));
  EXPECT_THAT(
      faults("output ! upload"),
      ElementsAre("chain, column 1: \"Output\" stands last in a chain or not at all"));
}

TEST(Chain, RefusesWhatIsNoUtf8) {
  EXPECT_THAT(faults("fft norm=\xff"), ElementsAre("chain, column 10: byte 0xff is no UTF-8 text"));
}

}  // namespace
}  // namespace holoflow::core
