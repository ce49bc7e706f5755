// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the library's log goes.
#pragma once

#include <memory>
#include <spdlog/sinks/sink.h>

namespace holoflow::core {

/// Sends the log of loggers made from now on to `sink`; null restores the default, warnings and
/// errors on standard error. Any thread.
void set_log_sink(std::shared_ptr<spdlog::sinks::sink> sink);

}  // namespace holoflow::core
