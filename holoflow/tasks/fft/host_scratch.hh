// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory for the arrays that pocketfft makes while it transforms. Included before its header.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace holoflow::tasks {

/// A stack of memory that a transform keeps, so that running it allocates nothing. It learns its
/// size from a rehearsal: as long as nothing is reserved everything comes from the heap, and the
/// most that was out at a time is what to reserve. One thread at a time.
class HostScratch {
public:
  static constexpr std::align_val_t alignment{64};

  HostScratch() = default;
  HostScratch(const HostScratch &) = delete;
  HostScratch &operator=(const HostScratch &) = delete;
  ~HostScratch() { ::operator delete(block_, alignment); }

  /// Where arrays that this thread makes come from; null: the heap.
  static inline constinit thread_local HostScratch *active = nullptr;

  /// Memory that is given back in the order of a stack.
  [[nodiscard]] void *take(size_t bytes) {
    const size_t begin = used_;
    used_ += whole(bytes);
    max_used_ = used_ > max_used_ ? used_ : max_used_;
    return used_ <= size_ ? block_ + begin : ::operator new(bytes, alignment);
  }
  void give_back(void *memory, size_t bytes) noexcept {
    if (used_ > size_)
      ::operator delete(memory, alignment);
    used_ -= whole(bytes);
  }

  /// Call it when everything was given back.
  void reserve_what_was_used() {
    block_ = static_cast<std::byte *>(::operator new(max_used_, alignment));
    size_ = max_used_;
  }

private:
  static size_t whole(size_t bytes) {
    constexpr auto unit = static_cast<size_t>(alignment);
    return (bytes + unit - 1) / unit * unit;
  }

  std::byte *block_ = nullptr;
  size_t size_ = 0;
  size_t used_ = 0;
  size_t max_used_ = 0;
};

/// Makes a scratch the active one for as long as it lives.
class HostScratchScope {
public:
  explicit HostScratchScope(HostScratch &scratch)
      : before_(std::exchange(HostScratch::active, &scratch)) {}
  HostScratchScope(const HostScratchScope &) = delete;
  HostScratchScope &operator=(const HostScratchScope &) = delete;
  ~HostScratchScope() { HostScratch::active = before_; }

private:
  HostScratch *before_;
};

}  // namespace holoflow::tasks

namespace pocketfft::detail {

template <typename T> class arr;

/// Stands in for pocketfft's own array, of which there is one for every temporary of a transform:
/// a specialisation for every T, so the header's template is never instantiated. Elements are not
/// initialised, as there.
template <typename T>
requires(sizeof(T) > 0) class arr<T> {
public:
  arr() = default;
  arr(size_t size) : from_(holoflow::tasks::HostScratch::active), size_(size), data_(make()) {}
  arr(arr &&other) noexcept
      : from_(other.from_), size_(std::exchange(other.size_, 0)),
        data_(std::exchange(other.data_, nullptr)) {}
  ~arr() { drop(); }

  void resize(size_t size) {
    if (size == size_)
      return;
    drop();
    size_ = size;
    data_ = make();
  }

  T &operator[](size_t index) { return data_[index]; }
  const T &operator[](size_t index) const { return data_[index]; }
  T *data() { return data_; }
  const T *data() const { return data_; }
  [[nodiscard]] size_t size() const { return size_; }

private:
  using Scratch = holoflow::tasks::HostScratch;

  [[nodiscard]] T *make() const {
    if (size_ == 0)
      return nullptr;
    const size_t bytes = size_ * sizeof(T);
    return static_cast<T *>(
        from_ != nullptr ? from_->take(bytes) : ::operator new(bytes, Scratch::alignment));
  }
  void drop() noexcept {
    if (data_ != nullptr && from_ != nullptr)
      from_->give_back(data_, size_ * sizeof(T));
    else
      ::operator delete(data_, Scratch::alignment);
  }

  Scratch *from_ = nullptr;
  size_t size_ = 0;
  T *data_ = nullptr;
};

}  // namespace pocketfft::detail
