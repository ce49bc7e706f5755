// SPDX-License-Identifier: LGPL-2.1-or-later
// Pads that follow the graph, and properties.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gst_support.hh"

namespace holoflow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Element {
public:
  Element() : element_(gst_element_factory_make("holoflowbin", nullptr)) {
    gst_object_ref_sink(element_);
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
  }
  ~Element() {
    gst_element_set_state(element_, GST_STATE_NULL);
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(element_);
  }
  void set(const char *property, const std::string &value) {
    gst_util_set_object_arg(G_OBJECT(element_), property, value.c_str());
  }
  [[nodiscard]] GstElement *get() const { return element_; }
  [[nodiscard]] std::vector<std::string> pads() const {
    std::vector<std::string> names;
    for (GList *each = element_->pads; each != nullptr; each = each->next)
      names.emplace_back(GST_PAD_NAME(each->data));
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] std::vector<Message> messages(GstMessageType type) const {
    std::vector<Message> found;
    while (GstMessage *message = gst_bus_pop(bus_)) {
      if (GST_MESSAGE_TYPE(message) == type)
        found.push_back(to_message(message));
      gst_message_unref(message);
    }
    return found;
  }

private:
  GstElement *element_;
  GstBus *bus_;
};

constexpr char two_inputs[] =
    R"({"nodes":{"cam 0":{"type":"Input"},"cam1":{"type":"Input"},"sum":{"type":"Add"},)"
    R"("o":{"type":"Output"}},"edges":[{"from":"cam 0","to":"sum"},)"
    R"({"from":"cam1","to":"sum","in":1},"sum->o"]})";

TEST(Pads, ExistBeforeAnyGraphIsSet) {
  EXPECT_THAT(Element().pads(), ElementsAre("sink", "src"));
}

TEST(Pads, FollowTheGraphAsSoonAsItIsSet) {
  Element element;
  element.set("graph", two_inputs);
  EXPECT_THAT(element.pads(), ElementsAre("sink_cam1", "sink_cam_0", "src"));
  element.set("graph", passthrough());
  EXPECT_THAT(element.pads(), ElementsAre("sink", "src"));
}

TEST(Pads, OfAFaultyGraphAreSinkAndSrc) {
  Element element;
  for (const char *graph : {"{", "nonsuch.json", "upload ! sqrrt", "{\"nodes\":{}}"}) {
    element.set("graph", graph);
    EXPECT_THAT(element.pads(), ElementsAre("sink", "src")) << graph;
  }
}

TEST(Pads, OfInputsAndOutputsInSubGraphsExist) {
  Element element;
  element.set(
      "graph",
      "{\"nodes\":{\"all\":{\"type\":\"Graph\",\"params\":{\"graph\":\"g\"}}},"
      "\"graphs\":{\"g\":{\"nodes\":{\"a\":{\"type\":\"Input\"},"
      "\"b\":{\"type\":\"Input\"},\"o\":{\"type\":\"Output\"}}}}}");
  EXPECT_THAT(element.pads(), ElementsAre("sink_all_a", "sink_all_b", "src"));
}

TEST(Pads, OfUnchangedNamesKeepTheirLinks) {
  Pipeline pipeline("fakesrc name=s ! holoflowbin name=h graph=\""
                    "sqrt\" ! fakesink");
  GstElement *element = pipeline.element("h");
  GstPad *before = gst_element_get_static_pad(element, "sink");
  g_object_set(element, "graph", passthrough().c_str(), nullptr);
  GstPad *after = gst_element_get_static_pad(element, "sink");
  EXPECT_EQ(before, after);
  EXPECT_TRUE(gst_pad_is_linked(after));
  gst_object_unref(before);
  gst_object_unref(after);
}

TEST(Pads, AGraphThatWouldDropALinkedPadIsRefused) {
  Pipeline pipeline("fakesrc ! holoflowbin name=h graph=sqrt ! fakesink");
  GstElement *element = pipeline.element("h");
  g_object_set(element, "graph", two_inputs, nullptr);
  gchar *graph = nullptr;
  g_object_get(element, "graph", &graph, nullptr);
  EXPECT_STREQ(graph, "sqrt");
  g_free(graph);
  GstPad *pad = gst_element_get_static_pad(element, "sink");
  ASSERT_NE(pad, nullptr);
  EXPECT_TRUE(gst_pad_is_linked(pad));
  gst_object_unref(pad);
  ASSERT_TRUE(pipeline.wait_for(GST_MESSAGE_WARNING));
  EXPECT_THAT(pipeline.messages().back().text, HasSubstr("no pad \"sink\", which is linked"));
}

TEST(Pads, ClashingNamesAreRefused) {
  Element element;
  element.set(
      "graph",
      R"({"nodes":{"a b":{"type":"Input"},"a_b":{"type":"Input"},)"
      R"("s":{"type":"Add"},"o":{"type":"Output"}},"edges":[)"
      R"({"from":"a b","to":"s"},{"from":"a_b","to":"s","in":1},"s->o"]})");
  const auto warnings = element.messages(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, HasSubstr("node \"a_b\" would get the same pad name"));
}

TEST(Pads, SeveralInputsOpen) {
  Element element;
  element.set("graph", two_inputs);
  EXPECT_EQ(gst_element_set_state(element.get(), GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
  EXPECT_THAT(element.messages(GST_MESSAGE_ERROR), testing::IsEmpty());
}

// The ports are children of the bin, named after their nodes.
TEST(Pads, ChildrenAreThePorts) {
  Element element;
  element.set("graph", two_inputs);
  for (const char *node : {"cam 0", "cam1", "o"}) {
    GstElement *port = gst_bin_get_by_name(GST_BIN(element.get()), node);
    ASSERT_NE(port, nullptr) << node;
    EXPECT_EQ(port->numpads, 1) << node;
    gst_object_unref(port);
  }
  element.set("graph", "sqrt");
  EXPECT_EQ(GST_BIN(element.get())->numchildren, 2);
  EXPECT_FALSE(GST_OBJECT_FLAG_IS_SET(element.get(), GST_ELEMENT_FLAG_SINK));
  EXPECT_FALSE(GST_OBJECT_FLAG_IS_SET(element.get(), GST_ELEMENT_FLAG_SOURCE));
}

TEST(Properties, KeepWhatWasSet) {
  Element element;
  element.set("graph", "sqrt");
  element.set("device", "cpu");
  element.set("cuda-device-id", "3");
  element.set("trace-location", "/tmp/trace.json");
  gchar *graph = nullptr, *settings = nullptr, *trace = nullptr;
  gint device = -1, id = -1;
  g_object_get(
      element.get(), "graph", &graph, "settings", &settings, "device", &device, "cuda-device-id",
      &id, "trace-location", &trace, nullptr);
  EXPECT_STREQ(graph, "sqrt");
  EXPECT_STREQ(settings, nullptr);
  EXPECT_STREQ(trace, "/tmp/trace.json");
  EXPECT_EQ(device, 1);
  EXPECT_EQ(id, 3);
  g_free(graph);
  g_free(settings);
  g_free(trace);
}

TEST(Properties, StatsNameEveryCounterAlsoBeforeTheStart) {
  Element element;
  GstStructure *stats = nullptr;
  g_object_get(element.get(), "stats", &stats, nullptr);
  EXPECT_STREQ(gst_structure_get_name(stats), "application/x-holoflow-stats");
  for (const char *field : {"in", "out", "dropped", "failed", "in-flight"}) {
    guint64 value = 1;
    EXPECT_TRUE(gst_structure_get_uint64(stats, field, &value)) << field;
    EXPECT_EQ(value, 0u) << field;
  }
  EXPECT_NE(gst_structure_get_string(stats, "device"), nullptr);
  EXPECT_TRUE(gst_structure_has_field_typed(stats, "nodes", GST_TYPE_STRUCTURE));
  gst_structure_free(stats);
}

TEST(Properties, SettingsReachSubGraphsAndTheirNodes) {
  const std::string graph =
      R"({"nodes": {"in": {"type": "Input"}, "g": {"type": "Graph", "params": {"graph": "none"}},
          "out": {"type": "Output"}}, "edges": ["in -> g", "g -> out"], "graphs": {
          "twice": {"nodes": {"c": {"type": "Copy"}, "d": {"type": "Copy"}}, "edges": ["c -> d"],
                    "inputs": ["c:0"], "outputs": ["d:0"]}}})";
  const std::pair<const char *, const char *> cases[] = {
      {"", "there is no sub-graph \"none\""},
      {R"({"g": {"graph": "twice"}, "g/c": {"x": 1}})", "node \"g/c\" (Copy): unknown param \"x\""},
      {R"({"g": {"graph": "twice"}, "g/e": {}})", "there is no node \"g/e\""},
  };
  for (const auto &[settings, text] : cases) {
    Element element;
    element.set("graph", graph);
    g_object_set(element.get(), "settings", settings, nullptr);
    EXPECT_EQ(gst_element_set_state(element.get(), GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
    const auto errors = element.messages(GST_MESSAGE_ERROR);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_THAT(errors[0].text, HasSubstr(text));
  }
  Element element;
  element.set("graph", graph);
  g_object_set(element.get(), "settings", R"({"g": {"graph": "twice"}})", nullptr);
  EXPECT_EQ(gst_element_set_state(element.get(), GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
}

TEST(Properties, FaultySettingsAreNamedWhenTheElementOpens) {
  const std::pair<const char *, const char *> cases[] = {
      {"{\"inn\":{\"as\":\"RGB\"}}", "there is no node \"inn\"; did you mean \"in\"?"},
      {"{\"in\":3}", "expected an object of params for node \"in\", got 3"},
      {"[1]", "settings: expected a JSON object like {\"node\": {\"param\": value}}, got \"[1]\""},
      {"in.as=RGB", "{\"node\": {\"param\": value}}, got \"in.as=RGB\""},
      {"{\"in\"", "got \"{\\\"in\\\"\"; it is no JSON at character 6"},
      {"{\"in\":{\"az\":1}}", "\"az\""},
  };
  for (const auto &[settings, text] : cases) {
    SCOPED_TRACE(settings);
    Element element;
    element.set("graph", passthrough());
    g_object_set(element.get(), "settings", settings, nullptr);
    EXPECT_EQ(gst_element_set_state(element.get(), GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
    const auto errors = element.messages(GST_MESSAGE_ERROR);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].domain, GST_RESOURCE_ERROR);
    EXPECT_EQ(errors[0].code, GST_RESOURCE_ERROR_SETTINGS);
    EXPECT_THAT(errors[0].text, HasSubstr(text));
    EXPECT_THAT(errors[0].text, Not(HasSubstr("json.exception")));
  }
}

}  // namespace
}  // namespace holoflow::test
