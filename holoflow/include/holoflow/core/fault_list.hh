// SPDX-License-Identifier: LGPL-2.1-or-later
// A list of faults that no graph can make long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace holoflow::core {

/// Faults that one error lists; further ones are only counted.
inline constexpr size_t max_listed_faults = 50;

/// The faults of one graph: of type Error, or what becomes one. A graph from outside may have
/// millions, so only the first max_listed_faults are kept.
template <typename Fault> class BasicFaultList {
public:
  using value_type = Fault;
  using const_iterator = typename std::vector<Fault>::const_iterator;
  using iterator = const_iterator;

  BasicFaultList() = default;
  BasicFaultList(std::initializer_list<Fault> faults)
      : BasicFaultList(std::vector<Fault>(faults)) {}
  /// Not explicit: errors are made from vectors of faults.
  BasicFaultList(std::vector<Fault> faults) : listed_(std::move(faults)) {
    if (listed_.size() <= max_listed_faults)
      return;
    unlisted_ = listed_.size() - max_listed_faults;
    listed_.erase(listed_.begin() + max_listed_faults, listed_.end());
  }

  void add(Fault fault) {
    if (is_full())
      ++unlisted_;
    else
      listed_.push_back(std::move(fault));
  }
  void add_all(const BasicFaultList &others) {
    for (const Fault &fault : others)
      add(fault);
    unlisted_ += others.unlisted_;
  }
  /// For faults that need no text, because the list is full.
  void add_unlisted(size_t count = 1) { unlisted_ += count; }
  template <typename Before> void sort(Before before) {
    std::stable_sort(listed_.begin(), listed_.end(), before);
  }

  [[nodiscard]] bool is_full() const noexcept { return listed_.size() >= max_listed_faults; }
  [[nodiscard]] size_t unlisted() const noexcept { return unlisted_; }
  [[nodiscard]] size_t total() const noexcept { return listed_.size() + unlisted_; }

  // What is listed.
  [[nodiscard]] bool empty() const noexcept { return listed_.empty(); }
  [[nodiscard]] size_t size() const noexcept { return listed_.size(); }
  [[nodiscard]] const_iterator begin() const noexcept { return listed_.begin(); }
  [[nodiscard]] const_iterator end() const noexcept { return listed_.end(); }
  [[nodiscard]] const Fault &front() const { return listed_.front(); }
  [[nodiscard]] const Fault &back() const { return listed_.back(); }
  [[nodiscard]] const Fault &operator[](size_t index) const { return listed_.at(index); }
  operator const std::vector<Fault> &() const noexcept { return listed_; }

private:
  std::vector<Fault> listed_;
  size_t unlisted_ = 0;
};

}  // namespace holoflow::core
