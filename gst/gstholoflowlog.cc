// SPDX-License-Identifier: LGPL-2.1-or-later
// spdlog to GStreamer's debug log; errors with the codes that applications switch on.
#include "gstholoflowlog.h"

#include <spdlog/sinks/sink.h>

#include <algorithm>
#include <memory>
#include <new>

#include "gstholoflowcaps.h"
#include "gstholoflowmodel.h"
#include "holoflow/core/log.hh"

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

struct Code {
  GQuark domain;
  int code;
};

// What a compile failed for. Before that every fault is one of the graph, RESOURCE/SETTINGS.
Code code_of(core::Reason reason) {
  using Reason = core::Reason;
  switch (reason) {
  case Reason::FileNotFound:
  case Reason::NoDevice:
  case Reason::DeviceFailed:
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND};
  case Reason::OutOfMemory:
  case Reason::OverBudget:
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT};
  case Reason::Incompatible:  // with other caps they might not be
  case Reason::NotChecked:
    return {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT};
  case Reason::TaskFailed:
    return {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED};
  case Reason::Other:
  case Reason::BrokenTask:
    return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED};
  default:
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS};
  }
}

// Of several faults the ones that caps decide say what is wrong now.
core::Reason reason_of(const core::CompileError &error) {
  const bool depends_on_caps =
      std::any_of(error.faults.begin(), error.faults.end(), [](const core::Error &fault) {
        return fault.reason == core::Reason::Incompatible;
      });
  return depends_on_caps ? core::Reason::Incompatible : error.reason;
}

void post_failure(
    GstElement *element, core::Reason reason, const std::string &sentence,
    const std::string &detail) {
  const auto [domain, code] = code_of(reason);
  post_error(element, domain, code, sentence, detail);
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
    GstElement *element, const std::string &graph, const core::FaultList &faults) {
  const std::string text = core::to_text(faults);
  if (faults.front().reason == core::Reason::FileNotFound) {
    post_failure(element, core::Reason::FileNotFound, text, "");
    return;
  }
  const std::string count =
      faults.total() > 1 ? " (" + std::to_string(faults.total()) + " faults)" : std::string();
  post_error(
      element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, text,
      graph.empty() ? "" : "the graph " + short_name(graph) + " cannot run" + count);
}

void post_compile_error(GstElement *element, const std::string &caps, std::exception_ptr error) {
  const std::string detail = "while compiling the graph for " + caps;
  try {
    std::rethrow_exception(error);
  } catch (const core::CompileError &failure) {
    post_failure(element, reason_of(failure), failure.what(), detail);
  } catch (const core::Error &failure) {
    post_failure(element, failure.reason, failure.what(), detail);
  } catch (const CapsError &failure) {
    post_failure(element, core::Reason::Incompatible, failure.what(), detail);
  } catch (const std::bad_alloc &) {
    post_failure(
        element, core::Reason::OutOfMemory,
        "there is not enough memory for the graph at this frame size", detail);
  } catch (const std::exception &failure) {
    post_failure(element, core::Reason::Other, failure.what(), detail);
  } catch (...) {
    post_failure(element, core::Reason::Other, "the compile failed", detail);
  }
}

}  // namespace holoflow::gst
