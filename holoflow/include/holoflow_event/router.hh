// SPDX-License-Identifier: LGPL-2.1-or-later
// Events between an application and the nodes of a running graph, routed when they are written.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace holoflow_event {

enum class EventDirection { ToNode, ToUi };

/// One message. `node_id` names the node that sent it or shall get it.
struct Event {
  EventDirection direction = EventDirection::ToNode;
  std::string node_id;
  nlohmann::json data;
  std::chrono::steady_clock::time_point ts = {};
};

/// A bounded first-in first-out box. Any number of threads may write and read.
class Mailbox {
public:
  explicit Mailbox(size_t capacity) : capacity_(capacity) {}

  /// False where the box is full; the event is then counted as dropped.
  [[nodiscard]] bool try_put(Event &&event) noexcept;
  [[nodiscard]] std::optional<Event> try_take() noexcept;
  [[nodiscard]] uint64_t dropped() const noexcept { return dropped_.load(); }

private:
  const size_t capacity_;
  std::mutex mutex_;  // guards events_; held for a move of one event only
  std::deque<Event> events_;
  std::atomic<uint64_t> dropped_{0};
};

/// A node's way to the application. Valid during execute().
class EventWriter {
public:
  EventWriter(std::string node_id, Mailbox &to_ui) : node_id_(std::move(node_id)), to_ui_(&to_ui) {}

  /// Sends `data` under the node's name; false (and counted) where the application does not read.
  bool try_emit(nlohmann::json data) noexcept;

private:
  std::string node_id_;
  Mailbox *to_ui_;
};

/// A node's letters from the application. Valid during execute().
class EventReader {
public:
  explicit EventReader(Mailbox &inbox) : inbox_(&inbox) {}

  [[nodiscard]] std::optional<Event> try_receive() noexcept { return inbox_->try_take(); }

private:
  Mailbox *inbox_;
};

/// Owns the mailboxes of one graph. Nodes are bound before the graph starts; sending and receiving
/// are safe from any thread and never wait for a task.
class Router {
public:
  static constexpr size_t mailbox_capacity = 1024;

  struct NodeHandles {
    EventReader reader;
    EventWriter writer;
  };

  Router() : to_ui_(mailbox_capacity) {}

  /// Makes the node's box. Not safe beside ui_try_send.
  [[nodiscard]] NodeHandles bind_node(const std::string &node_id);

  /// False (and counted as dropped) where no such node exists or its box is full.
  [[nodiscard]] bool ui_try_send(const std::string &node_id, nlohmann::json &&data) noexcept;
  [[nodiscard]] std::optional<Event> ui_try_receive() noexcept { return to_ui_.try_take(); }

  /// Events that reached nobody: unknown nodes and full boxes, each counted once.
  [[nodiscard]] uint64_t dropped() const noexcept;

private:
  Mailbox to_ui_;
  std::map<std::string, std::unique_ptr<Mailbox>, std::less<>> inboxes_;
  std::atomic<uint64_t> unknown_node_{0};
};

}  // namespace holoflow_event
