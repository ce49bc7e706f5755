// SPDX-License-Identifier: LGPL-2.1-or-later
// The library's log sink.
#include "holoflow/core/logging.hh"

#include <mutex>
#include <spdlog/sinks/stdout_sinks.h>

namespace holoflow::core {

namespace {

std::mutex sink_mutex;  // guards current_sink
std::shared_ptr<spdlog::sinks::sink> current_sink;

}  // namespace

void set_log_sink(std::shared_ptr<spdlog::sinks::sink> sink) {
  const std::lock_guard lock(sink_mutex);
  current_sink = std::move(sink);
}

std::shared_ptr<spdlog::logger> make_logger(const std::string &name) {
  const std::lock_guard lock(sink_mutex);
  if (current_sink == nullptr) {
    current_sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    current_sink->set_level(spdlog::level::warn);
  }
  auto logger = std::make_shared<spdlog::logger>(name, current_sink);
  logger->set_level(current_sink->level());
  return logger;
}

}  // namespace holoflow::core
