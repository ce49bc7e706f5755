// SPDX-License-Identifier: LGPL-2.1-or-later
// spdlog to GStreamer's debug log; errors with the codes that applications switch on.
#include "gstholoflowlog.h"

#include <spdlog/sinks/sink.h>

#include <algorithm>
#include <memory>
#include <new>

#include "gstholoflowcaps.h"
#include "gstholoflowmodel.h"
#include "holoflow/core/logging.hh"

GST_DEBUG_CATEGORY(holoflow_debug);

namespace holoflow::gst {

namespace {

GstDebugLevel to_gst(spdlog::level::level_enum level) {
  switch (level) {
  case spdlog::level::trace:
    return GST_LEVEL_TRACE;
  case spdlog::level::debug:
    return GST_LEVEL_DEBUG;
  case spdlog::level::info:
    return GST_LEVEL_INFO;
  case spdlog::level::warn:
    return GST_LEVEL_WARNING;
  default:
    return GST_LEVEL_ERROR;
  }
}

spdlog::level::level_enum to_spdlog(GstDebugLevel threshold) {
  if (threshold >= GST_LEVEL_TRACE)
    return spdlog::level::trace;
  if (threshold >= GST_LEVEL_DEBUG)
    return spdlog::level::debug;
  if (threshold >= GST_LEVEL_INFO)
    return spdlog::level::info;
  if (threshold >= GST_LEVEL_WARNING)
    return spdlog::level::warn;
  return threshold >= GST_LEVEL_ERROR ? spdlog::level::err : spdlog::level::off;
}

// gst_debug_log is thread-safe, so the sink needs no lock.
class GstSink final : public spdlog::sinks::sink {
public:
  void log(const spdlog::details::log_msg &message) override {
    const std::string name(message.logger_name.data(), message.logger_name.size());
    const std::string text(message.payload.data(), message.payload.size());
    gst_debug_log(
        holoflow_debug, to_gst(message.level), "libholoflow", name.c_str(), 0, nullptr, "%s: %s",
        name.c_str(), text.c_str());
  }
  void flush() override {}
  void set_pattern(const std::string &) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}
};

// Shared with the library's loggers. Lives as long as the process: plugins are never unloaded.
std::shared_ptr<GstSink> &log_sink() {
  static auto sink = std::make_shared<GstSink>();
  return sink;
}

void post(
    GstElement *element, GstMessageType type, GQuark domain, int code, const std::string &sentence,
    const std::string &detail) {
  gst_element_message_full(
      element, type, domain, code, g_strdup(sentence.c_str()),
      detail.empty() ? nullptr : g_strdup(detail.c_str()), __FILE__, GST_FUNCTION, __LINE__);
}

std::string short_name(const std::string &graph) {
  constexpr size_t longest = 60;
  const size_t line_end = std::min(graph.find('\n'), longest);
  return graph.size() > line_end ? graph.substr(0, line_end) + "…" : graph;
}

// Faults that other caps might not have.
bool depends_on_caps(const core::CompileError &error) {
  return std::any_of(error.faults.begin(), error.faults.end(), [](const core::Error &fault) {
    return fault.pass == "type inference";
  });
}

}  // namespace

void init_log() {
  GST_DEBUG_CATEGORY_INIT(holoflow_debug, "holoflow", 0, "compute graphs on frames (holoflowbin)");
  follow_log_threshold();
  core::set_log_sink(log_sink());
}

void follow_log_threshold() {
  log_sink()->set_level(to_spdlog(gst_debug_category_get_threshold(holoflow_debug)));
}

void post_error(
    GstElement *element, GQuark domain, int code, const std::string &sentence,
    const std::string &detail) {
  post(element, GST_MESSAGE_ERROR, domain, code, sentence, detail);
}

void post_warning(
    GstElement *element, GQuark domain, int code, const std::string &sentence,
    const std::string &detail) {
  post(element, GST_MESSAGE_WARNING, domain, code, sentence, detail);
}

void post_graph_faults(
    GstElement *element, const std::string &graph, const std::vector<core::Error> &faults,
    bool missing_file) {
  const std::string text = describe(faults);
  if (missing_file) {
    post_error(element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, text, "");
    return;
  }
  const std::string count =
      faults.size() > 1 ? " (" + std::to_string(faults.size()) + " faults)" : std::string();
  post_error(
      element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, text,
      graph.empty() ? "" : "the graph " + short_name(graph) + " cannot run" + count);
}

void post_compile_error(GstElement *element, const std::string &caps, std::exception_ptr error) {
  const std::string detail = "while compiling the graph for " + caps;
  try {
    std::rethrow_exception(error);
  } catch (const core::CompileError &failure) {
    if (depends_on_caps(failure))
      post_error(element, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, failure.what(), detail);
    else
      post_error(element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, failure.what(), detail);
  } catch (const CapsError &failure) {
    post_error(element, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, failure.what(), detail);
  } catch (const core::DeviceError &failure) {
    post_error(element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, failure.what(), detail);
  } catch (const std::bad_alloc &) {
    post_error(
        element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "there is not enough memory for the graph at this frame size", detail);
  } catch (const std::exception &failure) {
    post_error(element, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED, failure.what(), detail);
  } catch (...) {
    post_error(element, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED, "the compile failed", detail);
  }
}

}  // namespace holoflow::gst
