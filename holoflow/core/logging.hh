// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the library's log goes. Loggers are never registered with spdlog, so that several graphs
// and other users of spdlog in the process do not meet.
#pragma once

#include <memory>
#include <spdlog/logger.h>
#include <string>

#include "holoflow/core/log.hh"

namespace holoflow::core {

/// A logger of that name on the current sink; its level is that of the sink.
[[nodiscard]] std::shared_ptr<spdlog::logger> make_logger(const std::string &name);

}  // namespace holoflow::core
