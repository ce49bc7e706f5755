// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the library's log goes. Loggers are never registered with spdlog, so that several graphs
// and other users of spdlog in the process do not meet.
#pragma once

#include <memory>
#include <spdlog/logger.h>
#include <string>

namespace holoflow::core {

/// Sends the log of loggers made from now on to `sink`; null restores the default, warnings and
/// errors on standard error. Any thread.
void set_log_sink(std::shared_ptr<spdlog::sinks::sink> sink);

/// A logger of that name on the current sink; its level is that of the sink.
[[nodiscard]] std::shared_ptr<spdlog::logger> make_logger(const std::string &name);

}  // namespace holoflow::core
