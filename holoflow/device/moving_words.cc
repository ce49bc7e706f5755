// SPDX-License-Identifier: LGPL-2.1-or-later
// Addresses in recorded parameters.
#include "holoflow/device/moving_words.hh"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holoflow::runtime {

namespace {

constexpr size_t word_bytes = sizeof(uint64_t);
// No kernel of a task depends on more of an address than what a GPU aligns allocations to.
constexpr uint64_t alignment = 256;

uint64_t address(const std::byte *ptr) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
}

uint64_t word_at(const std::vector<std::byte> &image, size_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, image.data() + offset, word_bytes);
  return word;
}

std::string place(size_t operation, size_t offset) {
  return "byte " + std::to_string(offset) + " in the parameters of operation " +
      std::to_string(operation);
}

}  // namespace

MovingWords::MovingWords(ParameterImages images, std::vector<RecordedMemory> memory)
    : images_(std::move(images)) {
  for (const auto &image : images_)
    noise_.emplace_back(image.size() / word_bytes + 1, false);
  for (const auto &recorded : memory)
    memory_.push_back({recorded, recorded.first, false, {}});
  changed_.reserve(images_.size());
}

std::string MovingWords::compare_sizes(const MovingWords &other) const {
  if (images_.size() != other.images_.size() || memory_.size() != other.memory_.size())
    return "expected " + std::to_string(images_.size()) + " operations as recorded before, got " +
        std::to_string(other.images_.size());
  for (size_t i = 0; i < images_.size(); ++i)
    if (images_[i].size() != other.images_[i].size())
      return "operation " + std::to_string(i) + " has other parameters than before";
  return {};
}

std::string MovingWords::forget_noise(const MovingWords &again) {
  if (auto why = compare_sizes(again); !why.empty())
    return why;
  for (size_t i = 0; i < images_.size(); ++i)
    for (size_t at = 0; at < images_[i].size(); ++at)
      if (images_[i][at] != again.images_[i][at])
        noise_[i][at / word_bytes] = true;
  return {};
}

// `here` and `there` are the word in this recording, with memory where it lay then, and in the
// other one.
MovingWords::Found MovingWords::find(
    uint64_t here, uint64_t there, const MovingWords &moved) const {
  // An address right behind the last byte counts only where it is within no other memory.
  for (const uint64_t behind : {uint64_t{0}, uint64_t{1}}) {
    std::vector<Found> found;
    for (size_t i = 0; i < memory_.size(); ++i) {
      const auto &memory = memory_[i];
      const auto from = address(memory.now), to = address(moved.memory_[i].recorded.first);
      const auto addend = here - from;
      if (from != to && addend < memory.recorded.bytes + behind && there - to == addend)
        found.push_back({i, addend, {}});
    }
    if (found.size() == 1)
      return found.front();
    if (found.size() > 1)
      return {0, 0, "may be an address into either of two memories"};
  }
  return {0, 0, "changes with an address, but is none"};
}

bool MovingWords::knows(const Memory &memory, const Word &word) const {
  return std::any_of(memory.words.begin(), memory.words.end(), [&](const Word &known) {
    return known.operation == word.operation && known.offset == word.offset;
  });
}

std::string MovingWords::learn(const MovingWords &moved) {
  if (auto why = compare_sizes(moved); !why.empty())
    return why;
  std::vector<std::pair<size_t, Word>> learnt;
  for (size_t i = 0; i < images_.size(); ++i) {
    const auto &mine = images_[i], &other = moved.images_[i];
    for (size_t at = 0; at < mine.size();) {
      if (mine[at] == other[at] || noise_[i][at / word_bytes]) {
        ++at;
        continue;
      }
      const size_t offset = at / word_bytes * word_bytes;
      if (offset + word_bytes > mine.size())
        return place(i, at) + " changes with an address, but is none";
      const auto found = find(word_at(mine, offset), word_at(other, offset), moved);
      if (!found.why_not.empty())
        return place(i, offset) + " " + found.why_not;
      learnt.push_back({found.memory, {i, offset, found.addend}});
      at = offset + word_bytes;
    }
  }
  for (const auto &[memory, word] : learnt)
    if (!knows(memory_[memory], word))
      memory_[memory].words.push_back(word);
  for (size_t i = 0; i < memory_.size(); ++i)
    if (memory_[i].now != moved.memory_[i].recorded.first)
      memory_[i].is_learnt = true;
  return {};
}

bool MovingWords::can_follow(std::span<std::byte *const> memory) const noexcept {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const auto &known = memory_[i];
    const bool same_alignment =
        (address(memory[i]) - address(known.recorded.first)) % alignment == 0;
    if (memory[i] != known.now && !(known.is_learnt && same_alignment))
      return false;
  }
  return true;
}

std::span<const size_t> MovingWords::move(std::span<std::byte *const> memory) {
  changed_.clear();
  for (size_t i = 0; i < memory_.size(); ++i) {
    auto &known = memory_[i];
    if (known.now == memory[i])
      continue;
    known.now = memory[i];
    for (const auto &word : known.words) {
      const auto value = address(memory[i]) + word.addend;
      std::memcpy(images_[word.operation].data() + word.offset, &value, word_bytes);
      if (std::find(changed_.begin(), changed_.end(), word.operation) == changed_.end())
        changed_.push_back(word.operation);
    }
  }
  return changed_;
}

}  // namespace holoflow::runtime
