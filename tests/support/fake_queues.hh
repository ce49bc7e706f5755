// SPDX-License-Identifier: LGPL-2.1-or-later
// Two asynchronous tasks on scalars: one copies, one lends its memory.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "fake_tasks.hh"

namespace holoflow::test {

/// Takes and gives copies of its inputs, in order.
class CopyQueue final : public core::IAsyncTask {
public:
  CopyQueue(size_t capacity, bool knows_end) : capacity_(capacity), knows_end_(knows_end) {}

  OpResult try_push(core::AsyncPushCtx &ctx) override {
    const std::lock_guard lock(mutex_);
    if (items_.size() >= capacity_)
      return OpResult::NotReady;
    std::vector<float> item;
    for (const auto &input : ctx.inputs)
      item.push_back(value_of(input));
    items_.push_back(std::move(item));
    return OpResult::Ok;
  }

  OpResult try_pop(core::AsyncPopCtx &ctx) override {
    const std::lock_guard lock(mutex_);
    if (items_.empty())
      return ended_ ? OpResult::Eof : OpResult::NotReady;
    for (size_t i = 0; i < ctx.outputs.size(); ++i)
      value_of(ctx.outputs[i]) = items_.front()[i];
    items_.pop_front();
    return OpResult::Ok;
  }

  void end_of_input() override {
    if (!knows_end_)
      return;
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  bool knows_end_of_input() const noexcept override { return knows_end_; }
  void begin_run() override {
    const std::lock_guard lock(mutex_);
    items_.clear();
    ended_ = false;
  }

private:
  const size_t capacity_;
  const bool knows_end_;
  std::mutex mutex_;  // guards items_ and ended_
  std::deque<std::vector<float>> items_;
  bool ended_ = false;
};

/// Owns both slots: lends free cells to the producer and full ones to the consumer. Refuses the
/// first acquire of each run once, to see that the scheduler asks again.
class RingQueue final : public core::IAsyncTask {
public:
  RingQueue(size_t capacity, Journal &journal) : cells_(capacity), journal_(journal) {}

  std::optional<core::TView> acquire_input(int index) override {
    const std::lock_guard lock(mutex_);
    journal_.add("acquire");
    if (!refused_) {
      refused_ = true;
      return std::nullopt;
    }
    if (full_ + lent_ == cells_.size())
      return std::nullopt;
    auto &storage = storage_access().owned_input_storage(static_cast<size_t>(index));
    storage.ptr = reinterpret_cast<std::byte *>(&cells_[(first_ + full_ + lent_) % cells_.size()]);
    return core::TView{scalar(), &storage};
  }
  void abandon_input(int index) override {
    journal_.add("abandon");
    storage_access().owned_input_storage(static_cast<size_t>(index)).ptr = nullptr;
  }
  void release_output(int index) override {
    const std::lock_guard lock(mutex_);
    journal_.add("release");
    storage_access().owned_output_storage(static_cast<size_t>(index)).ptr = nullptr;
    lent_ = 0;
    first_ = (first_ + 1) % cells_.size();
  }

  OpResult try_push(core::AsyncPushCtx &) override {
    const std::lock_guard lock(mutex_);
    storage_access().owned_input_storage(0).ptr = nullptr;
    ++full_;
    return OpResult::Ok;
  }
  OpResult try_pop(core::AsyncPopCtx &) override {
    const std::lock_guard lock(mutex_);
    if (full_ == 0)
      return ended_ ? OpResult::Eof : OpResult::NotReady;
    --full_;
    lent_ = 1;
    storage_access().owned_output_storage(0).ptr = reinterpret_cast<std::byte *>(&cells_[first_]);
    return OpResult::Ok;
  }
  void end_of_input() override {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  bool knows_end_of_input() const noexcept override { return true; }
  void begin_run() override {
    const std::lock_guard lock(mutex_);
    full_ = 0;
    refused_ = ended_ = false;
  }

private:
  std::mutex mutex_;  // guards everything below
  std::vector<float> cells_;
  size_t first_ = 0, full_ = 0, lent_ = 0;
  bool refused_ = false, ended_ = false;
  Journal &journal_;
};

}  // namespace holoflow::test
