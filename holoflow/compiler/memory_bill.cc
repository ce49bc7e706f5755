// SPDX-License-Identifier: LGPL-2.1-or-later
// The memory bill as numbers and as text.
#include <algorithm>
#include <array>
#include <cstdio>

#include "holoflow/compiler/saturating.hh"
#include "holoflow/runtime/compiler.hh"

namespace holoflow::runtime {

using compiler::saturating_sum;

namespace {

/// "1.5 MiB"; plain bytes below a KiB.
std::string readable(size_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < units.size(); ++unit)
    value /= 1024.0;
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

std::string amounts(const MemoryAmount &amount) {
  std::string text;
  const auto add = [&](size_t bytes, const char *what) {
    if (bytes > 0)
      text += (text.empty() ? "" : " + ") + readable(bytes) + " " + what;
  };
  add(amount.device, "device");
  add(amount.pinned, "pinned");
  add(amount.host, "host");
  return text.empty() ? "nothing" : text;
}

/// The costliest entries of a list, largest first.
template <typename Item, typename Bytes>
std::vector<Item> largest(const std::vector<Item> &items, Bytes bytes) {
  constexpr size_t shown = 20;
  auto sorted = items;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Item &a, const Item &b) {
    return bytes(a) > bytes(b);
  });
  sorted.resize(std::min(sorted.size(), shown));
  return sorted;
}

}  // namespace

size_t MemoryAmount::total() const noexcept {
  return saturating_sum(saturating_sum(device, pinned), host);
}

MemoryAmount &MemoryAmount::operator+=(const MemoryAmount &other) noexcept {
  device = saturating_sum(device, other.device);
  pinned = saturating_sum(pinned, other.pinned);
  host = saturating_sum(host, other.host);
  return *this;
}

std::string to_text(const MemoryBill &bill) {
  std::string text = "memory: " + amounts(bill.total()) + "\n";
  text += "  tensors: " + amounts(bill.blocks) + "\n  tasks: " + amounts(bill.tasks) + "\n";
  text += "  saved: " + readable(bill.saved_by_aliasing) + " by aliasing, " +
      readable(bill.saved_by_sharing) + " by sharing blocks\n";
  for (const auto &section : bill.sections)
    text += "  section " + std::to_string(section.section) + ": tensors " +
        amounts(section.blocks) + ", tasks " + amounts(section.tasks) + "\n";
  for (const auto &item : largest(bill.tensors, [](const auto &each) { return each.bytes; }))
    text += "  tensor " + std::to_string(item.tid) + " \"" + item.node + ":" +
        std::to_string(item.slot) + "\": " + readable(item.bytes) + " in storage " +
        std::to_string(item.sid) +
        (item.block < 0               ? ", memory of a task"
             : item.block == item.sid ? ""
                                      : ", block of storage " + std::to_string(item.block)) +
        "\n";
  for (const auto &item :
       largest(bill.task_items, [](const auto &each) { return each.need.bytes; }))
    text += "  task \"" + item.node + "\": " + readable(item.need.bytes) + " " +
        (item.need.mem_loc == core::MemLoc::Device ? "device" : "host") + ", " + item.need.what +
        "\n";
  return text;
}

const char *to_string(Decision::Kind kind) {
  switch (kind) {
  case Decision::Kind::Section:
    return "section";
  case Decision::Kind::Alias:
    return "alias";
  case Decision::Kind::Copy:
    return "copy";
  case Decision::Kind::Owner:
    return "owner";
  case Decision::Kind::Sharing:
    return "sharing";
  case Decision::Kind::Slots:
    return "slots";
  case Decision::Kind::Order:
    return "order";
  case Decision::Kind::Device:
    return "device";
  case Decision::Kind::Replay:
    return "replay";
  case Decision::Kind::Warning:
    return "warning";
  }
  return "unknown";
}

}  // namespace holoflow::runtime
