// SPDX-License-Identifier: LGPL-2.1-or-later
// Which words of recorded parameters follow memory that moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "holoflow/device/moving_words.hh"

namespace holoflow::runtime {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::byte *at(uint64_t address) {
  return reinterpret_cast<std::byte *>(static_cast<uintptr_t>(address));
}

/// Parameters made of words.
std::vector<std::byte> image(const std::vector<uint64_t> &words) {
  std::vector<std::byte> bytes(words.size() * sizeof(uint64_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::vector<uint64_t> words(MovingWords &moving, size_t operation, size_t count) {
  std::vector<uint64_t> result(count);
  std::memcpy(result.data(), moving.image(operation), count * sizeof(uint64_t));
  return result;
}

constexpr uint64_t input = 0x7f0000001000, output = 0x7f0000200000;
constexpr uint64_t other_input = 0x7f0000003000, other_output = 0x7f0000280000;
constexpr size_t bytes = 0x1000;

std::vector<RecordedMemory> memory(uint64_t in, uint64_t out) {
  return {{at(in), bytes}, {at(out), bytes}};
}

/// Two operations: the first reads memory 0, the second writes memory 1, each with an offset.
MovingWords recorded(uint64_t in, uint64_t out, uint64_t noise = 0) {
  return {{image({in + 0x10, 42, noise}), image({7, out})}, memory(in, out)};
}

}  // namespace

TEST(MovingWords, FollowsEachMemoryWithItsOffsetAfterOneComparison) {
  auto moving = recorded(input, output);
  EXPECT_EQ(moving.learn(recorded(other_input, other_output)), "");
  const std::vector<std::byte *> third = {at(input + 0x4000), at(output + 0x100)};
  ASSERT_TRUE(moving.can_follow(third));
  EXPECT_THAT(moving.move(third), ElementsAre(0, 1));
  EXPECT_THAT(words(moving, 0, 3), ElementsAre(input + 0x4010, 42, 0));
  EXPECT_THAT(words(moving, 1, 2), ElementsAre(7, output + 0x100));
}

TEST(MovingWords, NothingChangesWhereNothingMoves) {
  auto moving = recorded(input, output);
  const std::vector<std::byte *> same = {at(input), at(output)};
  ASSERT_TRUE(moving.can_follow(same));
  EXPECT_THAT(moving.move(same), IsEmpty());
}

// Probes in every byte that is no address into memory that moves, and in the image of an operation
// without any: whoever wrote what is static would write over them.
TEST(MovingWords, AMoveWritesAddressesAndNothingElse) {
  constexpr uint64_t probe = 0xfeedfacecafebeef;
  const auto record = [](uint64_t in, uint64_t out) {
    return MovingWords(
        {image({in + 0x10, 1, 2, out}), image({3, 4}), image({5, in})}, memory(in, out));
  };
  auto moving = record(input, output);
  EXPECT_EQ(moving.learn(record(other_input, other_output)), "");
  const auto plant = [&](size_t operation, size_t word) {
    std::memcpy(moving.image(operation) + word * sizeof(probe), &probe, sizeof(probe));
  };
  plant(0, 1), plant(0, 2), plant(1, 0), plant(1, 1), plant(2, 0);
  for (uint64_t frame = 1; frame <= 100; ++frame) {
    const auto in = input + frame * 0x100, out = output + (frame / 2) * 0x200;
    const std::vector<std::byte *> now = {at(in), at(out)};
    ASSERT_TRUE(moving.can_follow(now));
    EXPECT_THAT(moving.move(now), ElementsAre(0, 2)) << "operation 1 holds no address";
    EXPECT_THAT(words(moving, 0, 4), ElementsAre(in + 0x10, probe, probe, out));
    EXPECT_THAT(words(moving, 1, 2), ElementsAre(probe, probe));
    EXPECT_THAT(words(moving, 2, 2), ElementsAre(probe, in));
  }
  // Nor where only one of them moves.
  plant(0, 0), plant(2, 1);
  const std::vector<std::byte *> now = {at(input + 100 * 0x100), at(output)};
  EXPECT_THAT(moving.move(now), ElementsAre(0));
  EXPECT_THAT(words(moving, 0, 4), ElementsAre(probe, probe, probe, output));
  EXPECT_THAT(words(moving, 2, 2), ElementsAre(probe, probe));
}

TEST(MovingWords, LearnsOneMemoryAfterTheOther) {
  auto moving = recorded(input, output);
  EXPECT_EQ(moving.learn(recorded(other_input, output)), "");
  EXPECT_TRUE(moving.can_follow(std::vector<std::byte *>{at(other_input), at(output)}));
  EXPECT_FALSE(moving.can_follow(std::vector<std::byte *>{at(input), at(other_output)}))
      << "memory 1 has not moved yet, so no word of it is known";
  EXPECT_EQ(moving.learn(recorded(other_input, other_output)), "");
  EXPECT_TRUE(moving.can_follow(std::vector<std::byte *>{at(input), at(other_output)}));
}

TEST(MovingWords, AnotherAlignmentIsAnotherRecording) {
  auto moving = recorded(input, output);
  EXPECT_EQ(moving.learn(recorded(other_input, other_output)), "");
  EXPECT_FALSE(moving.can_follow(std::vector<std::byte *>{at(other_input + 64), at(output)}));
}

TEST(MovingWords, AWordThatIsNoAddressMustNotChange) {
  auto moving = recorded(input, output, 1);
  EXPECT_THAT(
      moving.learn(recorded(other_input, other_output, 2)),
      HasSubstr("byte 16 in the parameters of operation 0 changes with an address, but is none"));
  EXPECT_FALSE(moving.can_follow(std::vector<std::byte *>{at(other_input), at(output)}));
}

TEST(MovingWords, PaddingIsIgnoredOnceItWasSeenToChangeByItself) {
  auto moving = recorded(input, output, 1);
  EXPECT_EQ(moving.forget_noise(recorded(input, output, 2)), "");
  EXPECT_EQ(moving.learn(recorded(other_input, other_output, 3)), "");
  EXPECT_TRUE(moving.can_follow(std::vector<std::byte *>{at(other_input), at(other_output)}));
}

TEST(MovingWords, AnAddressOutsideOfTheMemoryIsNotFollowed) {
  MovingWords moving({image({input + bytes + 8})}, memory(input, output));
  EXPECT_THAT(
      moving.learn({{image({other_input + bytes + 8})}, memory(other_input, output)}),
      HasSubstr("but is none"));
}

TEST(MovingWords, TheEndOfAMemoryIsItsOwnUnlessAnotherBeginsThere) {
  MovingWords moving({image({input + bytes})}, memory(input, output));
  EXPECT_EQ(moving.learn({{image({other_input + bytes})}, memory(other_input, output)}), "");

  // Memory 1 begins where memory 0 ends, and both move by the same distance.
  MovingWords neighbours({image({input + bytes})}, memory(input, input + bytes));
  EXPECT_EQ(
      neighbours.learn({{image({other_input + bytes})}, memory(other_input, other_input + bytes)}),
      "");
  const std::vector<std::byte *> apart = {at(input), at(output)};
  ASSERT_TRUE(neighbours.can_follow(apart));
  neighbours.move(apart);
  EXPECT_THAT(words(neighbours, 0, 1), ElementsAre(output));
}

TEST(MovingWords, OverlappingMemoriesThatMoveAlikeAreNotGuessed) {
  MovingWords moving({image({input + 0x20})}, memory(input, input + 0x10));
  EXPECT_THAT(
      moving.learn({{image({other_input + 0x20})}, memory(other_input, other_input + 0x10)}),
      HasSubstr("may be an address into either of two memories"));
}

TEST(MovingWords, OtherOperationsAreNotTheSameWork) {
  auto moving = recorded(input, output);
  EXPECT_THAT(
      moving.learn({{image({1})}, memory(input, output)}),
      HasSubstr("expected 2 operations as recorded before, got 1"));
  EXPECT_THAT(
      moving.forget_noise({{image({1}), image({7, output})}, memory(input, output)}),
      HasSubstr("operation 0 has other parameters than before"));
}

}  // namespace holoflow::runtime
