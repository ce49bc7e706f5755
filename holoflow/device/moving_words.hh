// SPDX-License-Identifier: LGPL-2.1-or-later
// Which words in the parameters of recorded operations are addresses into memory that moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "holoflow/runtime/recorded_work.hh"

namespace holoflow::runtime {

/// The parameters of each recorded operation as bytes. Pointers in them are 8 bytes long and lie at
/// multiples of 8, as compilers lay out parameters.
using ParameterImages = std::vector<std::vector<std::byte>>;

/// Learns from the same work, recorded twice with memory in different places: a word that differs
/// must be `first + n` of a memory that moved, with the same n in both, else the work cannot be
/// followed.
///
///                   memory 0 at 0x7f00    memory 0 at 0x9f00
///   parameters      … 0x7f10 …  42        … 0x9f10 …  42       ⇒ this word is memory 0 + 0x10
///
/// Words that differ between two recordings with memory in the same places are padding, into which
/// whatever lay on the stack was copied; they are ignored.
///
/// Threads: one.
class MovingWords {
public:
  MovingWords() = default;
  MovingWords(ParameterImages images, std::vector<RecordedMemory> memory);

  /// Both return why not, or "".
  [[nodiscard]] std::string forget_noise(const MovingWords &again);
  [[nodiscard]] std::string learn(const MovingWords &moved);

  [[nodiscard]] bool can_follow(std::span<std::byte *const> memory) const noexcept;
  /// Writes the addresses into the images; the operations whose images changed, each once, valid
  /// until the next call. Allocates nothing.
  std::span<const size_t> move(std::span<std::byte *const> memory);

  [[nodiscard]] bool has_same_image(const MovingWords &other, size_t operation) const {
    return images_[operation] == other.images_[operation];
  }
  [[nodiscard]] std::byte *image(size_t operation) { return images_[operation].data(); }

private:
  struct Word {
    size_t operation = 0, offset = 0;  // in its image
    size_t addend = 0;  // behind the first byte of the memory
  };
  struct Memory {
    RecordedMemory recorded;
    std::byte *now = nullptr;  // as the images say
    bool is_learnt = false;
    std::vector<Word> words;
  };
  struct Found {
    size_t memory = 0, addend = 0;
    std::string why_not;
  };

  [[nodiscard]] std::string compare_sizes(const MovingWords &other) const;
  [[nodiscard]] Found find(uint64_t here, uint64_t there, const MovingWords &moved) const;
  [[nodiscard]] bool knows(const Memory &memory, const Word &word) const;

  ParameterImages images_;  // as they were recorded, with addresses as they are now
  std::vector<std::vector<bool>> noise_;  // by operation and word: to be ignored
  std::vector<Memory> memory_;
  std::vector<size_t> changed_;
};

}  // namespace holoflow::runtime
