// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/faults/failing_calls.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "holoflow/runtime/device.hh"
#include "tests/faults/shim.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::faults {

namespace {

using runtime::CompilerConfig;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using Clock = std::chrono::steady_clock;

struct ErrorCode {
  int code;
  const char *name;
};
constexpr ErrorCode out_of_memory{2, "cudaErrorMemoryAllocation"};
constexpr ErrorCode unknown{999, "cudaErrorUnknown"};
constexpr ErrorCode illegal_address{700, "cudaErrorIllegalAddress"};

// A run without failure after so many with one.
constexpr uint64_t attempts_between_good_runs = 8;
// However slow the device: fewer say nothing.
constexpr uint64_t fewest_attempts = 24;

std::map<std::string, long> alive() {
  std::map<std::string, long> result;
  for (const char *what :
       {"device memory", "host memory", "streams", "events", "pools", "graphs", "executables"})
    result[what] = shim().alive(what);
  return result;
}

/// Page-locked memory for what one run pushes, there before any call fails.
class PageLockedMemory {
public:
  explicit PageLockedMemory(const test::Run &run) {
    auto &device = runtime::cuda_device();
    for (const auto &[name, tensor] : run.inputs)
      for (int i = 0; i < run.pushes; ++i)
        blocks_.emplace_back(device, core::MemLoc::Host, tensor.num_bytes());
  }

  void begin_run() { taken_ = 0; }
  std::shared_ptr<std::byte[]> take(size_t bytes) {
    const size_t index = taken_++;
    if (index >= blocks_.size() || blocks_[index].bytes() < bytes)
      throw std::logic_error("internal error: the test has too little page-locked memory");
    return {blocks_[index].get(), [](std::byte *) {}};  // the block owns it
  }

private:
  std::vector<runtime::MemoryBlock> blocks_;
  std::atomic<size_t> taken_ = 0;
};

/// One graph and what it gives without failures.
class Subject {
public:
  explicit Subject(const FailingGraph &graph) : graph_(graph), run_(graph.run) {
    if (!graph.page_locked)
      return;
    memory_ = std::make_unique<PageLockedMemory>(run_);
    run_.memory = [this](size_t bytes) { return memory_->take(bytes); };
  }

  [[nodiscard]] test::Outcome run() {
    if (memory_ != nullptr)
      memory_->begin_run();
    return test::run(run_, CompilerConfig::Device::Cuda);
  }

  /// False where the graph does not even work without failures.
  [[nodiscard]] bool learn() {
    want_ = run();
    EXPECT_EQ(want_.error, "");
    if (graph_.exact) {
      const auto on_cpu = test::run(graph_.run, CompilerConfig::Device::Cpu);
      EXPECT_EQ(want_.outputs, on_cpu.outputs);
    }
    shim().reset();
    const auto begin = Clock::now();
    expect_good_run();
    length_ = std::max<Clock::duration>(Clock::now() - begin, std::chrono::microseconds(100));
    calls_ = shim().calls();
    EXPECT_GT(calls_, 0u) << "the CUDA module that was loaded is not that of tests/shared_cudart";
    return want_.error.empty() && calls_ > 0;
  }

  void expect_good_run() {
    const auto got = run();
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.not_released, 0);
    EXPECT_EQ(got.outputs, want_.outputs);
  }

  void attempt(Failure failure, uint64_t call) {
    const ErrorCode code = failure == Failure::Lost ? illegal_address
        : call % 2 == 0                             ? out_of_memory
                                                    : unknown;
    const std::string trace = graph_.name + ": call " + std::to_string(call) + " of " +
        std::to_string(calls_) + " fails" + (failure == Failure::Lost ? ", and all behind it" : "");
    const test::Watchdog watchdog("this run hangs: " + trace, std::chrono::seconds(60));
    const auto before = alive();
    shim().reset();
    if (failure == Failure::Once)
      (void)shim().fail("any", call, code.code);
    else
      shim().fail_from(call, code.code);
    const auto got = run();
    const char *failed = shim().failed();
    shim().reset();

    SCOPED_TRACE(trace + ", " + (failed != nullptr ? failed : "but there were fewer"));
    SCOPED_TRACE("error: " + got.error);
    EXPECT_EQ(alive(), before);
    EXPECT_EQ(got.not_released, 0);
    EXPECT_THAT(got.other_errors, IsEmpty());
    if (failed == nullptr) {
      EXPECT_EQ(got.error, "");
    }
    // A run that does not notice the failure must not be wrong.
    if (got.error.empty()) {
      EXPECT_EQ(got.outputs, want_.outputs);
      return;
    }
    ++told_;
    EXPECT_THAT(
        got.error,
        AnyOf(HasSubstr(std::string(" failed: ") + code.name), HasSubstr(" failed: CUFFT_")));
  }

  [[nodiscard]] uint64_t calls() const { return calls_; }
  [[nodiscard]] Clock::duration length() const { return length_; }
  [[nodiscard]] uint64_t told() const { return told_; }

private:
  const FailingGraph &graph_;
  test::Run run_;
  std::unique_ptr<PageLockedMemory> memory_;
  test::Outcome want_;
  uint64_t calls_ = 0;
  Clock::duration length_{};
  uint64_t told_ = 0;
};

uint64_t attempts_for(const Subject &subject, Clock::duration budget) {
  const auto fit = static_cast<uint64_t>(budget / subject.length());
  return std::min(subject.calls(), std::max(fit, fewest_attempts));
}

}  // namespace

void check_failing_calls(
    const FailingGraph &graph, Failure failure, std::chrono::milliseconds budget) {
  Subject subject(graph);
  if (!subject.learn())
    return;
  const uint64_t attempts = attempts_for(subject, budget);
  std::mt19937_64 random(1);  // the same calls each time
  const auto begin = Clock::now();
  for (uint64_t i = 0; i < attempts; ++i) {
    // One of each stretch of calls, anywhere in it: a fixed step could always meet the same one.
    const uint64_t first = i * subject.calls() / attempts + 1;
    const uint64_t last = std::max(first, (i + 1) * subject.calls() / attempts);
    subject.attempt(failure, std::uniform_int_distribution<uint64_t>(first, last)(random));
    if (i % attempts_between_good_runs == 0 || i + 1 == attempts) {
      SCOPED_TRACE(graph.name + ": without a failure, after " + std::to_string(i + 1) + " with");
      subject.expect_good_run();
    }
    if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure()) {
      ADD_FAILURE() << graph.name << ": stops after " << i + 1 << " of " << attempts << " attempts";
      return;
    }
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  std::cout << graph.name << ": " << attempts << " of " << subject.calls() << " calls failed, "
            << subject.told() << " runs ended with an error, " << took.count() << " ms"
            << std::endl;
  EXPECT_GT(subject.told(), 0u) << "no failure was noticed";
}

}  // namespace holoflow::faults
