// SPDX-License-Identifier: LGPL-2.1-or-later
// Every failure posts one error that says where, what was expected and what to do.
#include <glib/gstdio.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "gst_support.hh"

namespace holoflow::test {
namespace {

using ::testing::HasSubstr;

std::string escaped(const std::string &graph) {
  std::string text = "\"";
  for (const char c : graph) {
    if (c == '"' || c == '\\')
      text += '\\';
    text += c;
  }
  return text + "\"";
}

struct Failure {
  std::vector<Message> own;  // errors of holoflowbin
  std::vector<Message> other;  // errors of its neighbours
};

Failure run_to_failure(const std::string &graph, const std::string &caps = "") {
  Pipeline pipeline(
      "videotestsrc num-buffers=3 ! " + (caps.empty() ? "" : caps + " ! ") +
      "holoflowbin name=h graph=" + escaped(graph) + " ! fakesink");
  EXPECT_TRUE(pipeline.run());
  Failure failure;
  for (const auto &error : pipeline.errors())
    (error.source == "h" ? failure.own : failure.other).push_back(error);
  return failure;
}

void expect_one(
    const std::string &graph, GQuark domain, int code, const std::vector<std::string> &texts) {
  SCOPED_TRACE(graph);
  const auto failure = run_to_failure(graph);
  ASSERT_EQ(failure.own.size(), 1u);
  EXPECT_EQ(failure.other.size(), 0u);
  EXPECT_EQ(failure.own[0].domain, domain);
  EXPECT_EQ(failure.own[0].code, code);
  for (const auto &text : texts)
    EXPECT_THAT(failure.own[0].text, HasSubstr(text));
}

void expect_bad_graph(const std::string &graph, const std::vector<std::string> &texts) {
  expect_one(graph, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, texts);
}

// A graph file that goes when the test ends.
class GraphFile {
public:
  explicit GraphFile(const std::string &text) {
    gchar *name = nullptr;
    const int file = g_file_open_tmp("holoflow-XXXXXX.json", &name, nullptr);
    EXPECT_GE(file, 0);
    g_close(file, nullptr);
    path_ = name;
    g_free(name);
    std::ofstream(path_) << text;
  }
  ~GraphFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string &path() const { return path_; }

private:
  std::string path_;
};

constexpr char input_output[] = R"("in":{"type":"Input","params":{"as":"GRAY"}},)"
                                R"("out":{"type":"Output"})";

TEST(Errors, NoGraph) {
  expect_bad_graph("", {"no graph is set", "property \"graph\""});
}

TEST(Errors, MissingFile) {
  expect_one(
      "no/such/graph.json", GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
      {"no/such/graph.json", "no such file"});
}

TEST(Errors, BrokenJsonInlineAndInAFile) {
  const std::string broken = "{\n  \"nodes\": {\n    \"in\": {\"type\": \"Input\",}\n  }\n}";
  expect_bad_graph(broken, {"line 3", "column"});
  const GraphFile file(broken);
  expect_bad_graph(file.path(), {file.path(), "line 3", "column"});
}

TEST(Errors, UnknownType) {
  const std::string graph = std::string("{\"nodes\":{") + input_output +
      R"(,"f":{"type":"Conversionn","params":{"target":"F32"}}},"edges":["in->f","f->out"]})";
  expect_bad_graph(
      graph,
      {"unknown type \"Conversionn\"; did you mean \"Conversion\"?", "/nodes/f", "line 1",
       "column"});
  const GraphFile file(graph);
  expect_bad_graph(file.path(), {"did you mean \"Conversion\"?", "/nodes/f"});
  expect_bad_graph("upload ! sqrrt ! download", {"sqrrt", "did you mean \"Sqrt\"?", "column"});
}

TEST(Errors, UnknownParam) {
  const std::string graph = std::string("{\"nodes\":{") + input_output +
      R"(,"f":{"type":"Conversion","params":{"tarjet":"F32"}}},"edges":["in->f","f->out"]})";
  expect_bad_graph(graph, {"\"tarjet\"", "did you mean \"target\"?", "/nodes/f/params/tarjet"});
  expect_bad_graph("conversion tarjet=F32", {"\"tarjet\"", "did you mean \"target\"?"});
}

TEST(Errors, WrongEdge) {
  expect_bad_graph(
      std::string("{\"nodes\":{") + input_output + R"(},"edges":["in->outt"]})",
      {"there is no node \"outt\"; did you mean \"out\"?", "/edges/0"});
}

TEST(Errors, Cycle) {
  expect_bad_graph(
      std::string("{\"nodes\":{") + input_output +
          R"(,"a":{"type":"Add"},"b":{"type":"Copy"}},"edges":["in->a:0","b->a:1",)"
          R"("a->b","a->out"]})",
      {"cycle", "\"a\" -> \"b\" -> \"a\""});
}

TEST(Errors, EveryFaultIsListed) {
  expect_bad_graph(
      std::string("{\"nodes\":{") + input_output +
          R"(,"a":{"type":"Sqrrt"},"b":{"type":"Normalise"}},)"
          R"("edges":["in->a","a->b","b->out"]})",
      {"did you mean \"Sqrt\"?", "did you mean \"Normalize\"?"});
}

TEST(Errors, AGraphWithoutInputOrOutput) {
  expect_bad_graph(
      R"({"nodes":{"out":{"type":"Output"}},"edges":[]})",
      {"expected a node of type \"Input\", got none; add one"});
  expect_bad_graph(
      R"({"nodes":{"in":{"type":"Input"}},"edges":[]})",
      {"expected a node of type \"Output\", got none; add one"});
}

TEST(Errors, AGraphThatTakesNoFormatAtAll) {
  // GRAY brings U8 or U16, Sqrt takes neither.
  expect_bad_graph(
      std::string("{\"nodes\":{") + input_output +
          R"(,"s":{"type":"Sqrt"}},"edges":["in->s","s->out"]})",
      {"node \"s\" (Sqrt), input 0: expected F32 or CF32, got U8", "Conversion"});
}

TEST(Errors, TheElementCanBeUsedAfterAnError) {
  Pipeline pipeline("videotestsrc num-buffers=3 ! holoflowbin name=h graph=none.json ! fakesink");
  EXPECT_TRUE(pipeline.run());
  EXPECT_EQ(pipeline.errors().size(), 1u);
  pipeline.set_state(GST_STATE_NULL);
  g_object_set(pipeline.element("h"), "graph", passthrough().c_str(), nullptr);
  EXPECT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(pipeline.errors().size(), 1u);
}

// The errors of a stream that begins with these caps.
std::vector<Message> errors_of_caps(const std::string &graph, const char *text) {
  Harness harness(graph);
  gst_harness_push_event(harness.get(), gst_event_new_stream_start("test"));
  GstCaps *caps = gst_caps_from_string(text);
  gst_harness_push_event(harness.get(), gst_event_new_caps(caps));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
  // The pad sends the refused caps again with each buffer; the error is not repeated.
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(
        gst_harness_push(harness.get(), gst_buffer_new_allocate(nullptr, 6144, nullptr)),
        GST_FLOW_NOT_NEGOTIATED);
  gst_caps_unref(caps);
  return harness.messages(GST_MESSAGE_ERROR);
}

TEST(Errors, CapsThatTheGraphCannotTakeAreRefusedWithAdvice) {
  const std::pair<const char *, const char *> cases[] = {
      {"video/x-raw,format=GRAY16_BE,width=64,height=48,framerate=30/1",
       "insert \"videoconvert ! video/x-raw,format=GRAY16_LE\""},
      {"video/x-raw,format=GRAY8,width=64,height=48,framerate=30/1,interlace-mode=interleaved",
       "insert \"deinterlace\""},
      {"video/x-raw,format=YUY2,width=64,height=48,framerate=30/1", "got YUY2"},
  };
  for (const auto &[caps, text] : cases) {
    SCOPED_TRACE(caps);
    const auto errors = errors_of_caps(passthrough(), caps);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].domain, GST_STREAM_ERROR);
    EXPECT_EQ(errors[0].code, GST_STREAM_ERROR_FORMAT);
    EXPECT_THAT(errors[0].text, HasSubstr(text));
  }
}

TEST(Errors, CapsThatOneNodeCannotTakeNameTheNode) {
  const auto errors =
      errors_of_caps("sqrt", "video/x-raw,format=GRAY8,width=64,height=48,framerate=30/1");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, GST_STREAM_ERROR_FORMAT);
  EXPECT_THAT(
      errors[0].text, HasSubstr("(Sqrt), input 0: expected F32 or CF32, got U8 [1, 48, 64]"));
}

TEST(Errors, ANegotiationThatFailsUpstreamIsExplainedByAWarning) {
  Pipeline pipeline(
      "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY16_BE ! "
      "holoflowbin name=h graph=" +
      escaped(passthrough()) + " ! fakesink");
  EXPECT_TRUE(pipeline.run());
  const auto warnings = pipeline.messages_of(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].source, "h");
  EXPECT_THAT(warnings[0].text, HasSubstr("video/x-raw,format=GRAY16_LE"));
}

TEST(Errors, AGraphThatTransformsSingleFramesAlongTimeRunsWithOneWarning) {
  Pipeline pipeline(
      "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=8,height=4 ! "
      "holoflowbin name=h graph=" +
      escaped("conversion target=F32 ! rfft axis=0 ! abs") + " ! fakesink");
  EXPECT_TRUE(pipeline.run());
  const auto warnings = pipeline.messages_of(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].source, "h");
  EXPECT_THAT(
      warnings[0].text,
      HasSubstr("(RFFT): transforms along the frame axis, but each tensor holds one frame"));
}

TEST(Errors, AFormatThatDownstreamCannotTakeIsExplained) {
  Pipeline pipeline(
      "videotestsrc num-buffers=3 ! holoflowbin name=h graph=" + escaped(passthrough()) +
      " ! video/x-raw,format=RGB ! fakesink");
  EXPECT_TRUE(pipeline.run());
  const auto warnings = pipeline.messages_of(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, HasSubstr("insert \"videoconvert\" behind holoflowbin"));
}

TEST(Errors, ANegotiationThatFailsSaysWhoseCapsDoNotFit) {
  const auto warning_of = [](const std::string &graph) {
    Pipeline pipeline(
        "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=64,height=48 ! "
        "holoflowbin name=h graph=" +
        escaped(graph) + " ! videoconvert ! fakesink");
    EXPECT_TRUE(pipeline.run());
    const auto warnings = pipeline.messages_of(GST_MESSAGE_WARNING);
    return warnings.size() == 1 ? warnings[0].text : std::to_string(warnings.size()) + " warnings";
  };
  EXPECT_THAT(
      warning_of(
          R"({"nodes": {"in": {"type": "Input", "params": {"caps": "video/x-raw,width=640"}},
              "out": {"type": "Output"}}, "edges": ["in -> out"]})"),
      HasSubstr("node \"in\" (Input): expected \"video/x-raw,width=640\", got video/x-raw"));
  EXPECT_THAT(
      warning_of("conversion target=F32 ! fft2"),
      HasSubstr("let the graph end in U8 or U16 pictures"));
}

// A task that throws: the error first, then EOS, and upstream gets an error.
TEST(Errors, AFailingTaskEndsTheStreamWithOneError) {
  for (const char *chain : {"failat99", "batchqueue ! failat99 ! batchqueue"}) {
    SCOPED_TRACE(chain);
    Harness harness(chain);
    gst_harness_set_src_caps_str(
        harness.get(), "video/x-raw,format=GRAY8,width=4,height=1,framerate=30/1");
    GstFlowReturn flow = GST_FLOW_OK;
    for (guint8 i = 97; flow == GST_FLOW_OK; ++i)
      flow = gst_harness_push(harness.get(), buffer_of({i, 0, 0, 0}));
    EXPECT_EQ(flow, GST_FLOW_ERROR);
    EXPECT_EQ(gst_harness_push(harness.get(), buffer_of({1, 0, 0, 0})), GST_FLOW_ERROR);
    GstBuffer *buffer = nullptr;
    while (gst_harness_pull_until_eos(harness.get(), &buffer) && buffer != nullptr) {
      EXPECT_LT(bytes_of(buffer)[0], 99);
      gst_buffer_unref(buffer);
    }
    const auto errors = harness.messages(GST_MESSAGE_ERROR);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].domain, GST_STREAM_ERROR);
    EXPECT_EQ(errors[0].code, GST_STREAM_ERROR_FAILED);
    EXPECT_THAT(errors[0].text, HasSubstr("failat99"));
    EXPECT_THAT(errors[0].text, HasSubstr("this frame begins with 99"));
  }
}

TEST(Errors, AFailureWhileTheEndIsDrainedIsPostedToo) {
  Harness harness("batchqueue target_capacity=16 ! failat99");
  gst_harness_set_src_caps_str(
      harness.get(), "video/x-raw,format=GRAY8,width=4,height=1,framerate=30/1");
  gst_harness_push(harness.get(), buffer_of({99, 0, 0, 0}));
  gst_harness_push_event(harness.get(), gst_event_new_eos());
  GstBuffer *buffer = nullptr;
  while (gst_harness_pull_until_eos(harness.get(), &buffer) && buffer != nullptr)
    gst_buffer_unref(buffer);
  EXPECT_EQ(harness.messages(GST_MESSAGE_ERROR).size(), 1u);
}

TEST(Errors, ADeviceThatIsNotThereIsNamed) {
  Pipeline pipeline(
      "videotestsrc num-buffers=3 ! holoflowbin name=h device=cuda cuda-device-id=250 "
      "graph=\"upload ! download\" ! fakesink");
  EXPECT_TRUE(pipeline.run());
  const auto errors = pipeline.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(errors[0].code, GST_RESOURCE_ERROR_NOT_FOUND);
  EXPECT_FALSE(errors[0].text.empty());
}

TEST(Errors, CapsOfAnInputThatAreNoneOrMeetNothingAreNamed) {
  const auto with_caps = [](const std::string &caps) {
    return R"({"nodes":{"in":{"type":"Input","params":{"caps":")" + caps +
        R"("}},"out":{"type":"Output"}},"edges":["in->out"]})";
  };
  expect_bad_graph(
      with_caps("bogus caps ,,"),
      {"node \"in\" (Input): \"caps\": expected GStreamer caps", "got \"bogus caps ,,\""});
  expect_bad_graph(with_caps("audio/x-raw"), {"that meet what an Input takes", "audio/x-raw"});
}

}  // namespace
}  // namespace holoflow::test
