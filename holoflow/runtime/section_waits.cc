// SPDX-License-Identifier: LGPL-2.1-or-later
// Waits of a section's thread.
#include "holoflow/runtime/section_waits.hh"

#include <algorithm>

namespace holoflow::runtime {

namespace {

constexpr std::chrono::microseconds first_back_off{50};
constexpr std::chrono::microseconds max_back_off{20'000};

}  // namespace

void SectionWaits::until(uint64_t work) {
  if (order_.has_finished(work))
    return;
  announce_room();
  const auto begin = probe_.begin_wait();
  order_.wait_until(work);
  probe_.waited(Probe::Wait::Device, nullptr, begin);
}

void SectionWaits::announce_room() {
  for (const auto &step : steps_.consumers)
    step.node->link->announce();
}

void SectionWaits::reset_back_off() {
  back_off_ = first_back_off;
}

void SectionWaits::sleep(
    NodeRuntime &node, Probe::Wait wait, uint64_t epoch, bool polled,
    std::optional<Waker::Clock::time_point> deadline) {
  if (!deadline && polled) {
    deadline = Waker::Clock::now() + back_off_;
    back_off_ = std::min(2 * back_off_, max_back_off);
  }
  announce_room();
  const auto begin = probe_.begin_wait();
  waker_.wait(epoch, deadline);
  probe_.waited(wait, &node, begin);
}

}  // namespace holoflow::runtime
