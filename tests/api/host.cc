// SPDX-License-Identifier: LGPL-2.1-or-later
// Tasks written for the first model, compiled against the installed headers: the CPU ones.
#include "check.hh"
#include "rate_limiter.hh"
#include "square_root.hh"

int main() {
  using namespace api_test;
  core::Registry registry;
  registry.register_sync("SqrtCpu", std::make_unique<HostSquareRootFactory>());
  registry.register_async(
      "StagingLimiter",
      std::make_unique<HostLimiterFactory<HostStagingLimiter, core::MemLoc::Host, false>>());
  registry.register_async(
      "SlotLimiter",
      std::make_unique<HostLimiterFactory<HostSlotLimiter, core::MemLoc::Host, true>>());
  const nlohmann::json fast{{"max_fps", 10000.0}};
  return check(registry, {{"sqrt", "SqrtCpu", {}}}, square_root) |
      check(registry, {{"limiter", "StagingLimiter", fast}}, same) |
      check(registry, {{"limiter", "SlotLimiter", fast}}, same);
}
