// SPDX-License-Identifier: LGPL-2.1-or-later
// Events between an application and the nodes of a running graph.
#include "holoflow_event/router.hh"

#include <utility>

namespace holoflow_event {

// Memory that runs out while an event is stored drops the event as a full box does.
bool Mailbox::try_put(Event &&event) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (events_.size() < capacity_) {
      events_.push_back(std::move(event));
      return true;
    }
  } catch (const std::bad_alloc &) {
  }
  ++dropped_;
  return false;
}

std::optional<Event> Mailbox::try_take() noexcept {
  const std::lock_guard lock(mutex_);
  if (events_.empty())
    return std::nullopt;
  std::optional<Event> event(std::move(events_.front()));
  events_.pop_front();
  return event;
}

bool EventWriter::try_emit(nlohmann::json data) noexcept {
  return to_ui_->try_put(
      Event{EventDirection::ToUi, node_id_, std::move(data), std::chrono::steady_clock::now()});
}

Router::NodeHandles Router::bind_node(const std::string &node_id) {
  auto &inbox = inboxes_[node_id];
  if (!inbox)
    inbox = std::make_unique<Mailbox>(mailbox_capacity);
  return {EventReader(*inbox), EventWriter(node_id, to_ui_)};
}

bool Router::ui_try_send(const std::string &node_id, nlohmann::json &&data) noexcept {
  const auto inbox = inboxes_.find(node_id);
  if (inbox == inboxes_.end()) {
    ++unknown_node_;
    return false;
  }
  return inbox->second->try_put(
      Event{EventDirection::ToNode, node_id, std::move(data), std::chrono::steady_clock::now()});
}

uint64_t Router::dropped() const noexcept {
  uint64_t total = unknown_node_.load() + to_ui_.dropped();
  for (const auto &inbox : inboxes_)
    total += inbox.second->dropped();
  return total;
}

}  // namespace holoflow_event
