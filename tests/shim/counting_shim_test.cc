// SPDX-License-Identifier: LGPL-2.1-or-later
#include "counting_shim.hh"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fake_cudart.hh"

namespace {

constexpr int invalid_value = 1;

class CountingShim : public testing::Test {
protected:
  void SetUp() override { holoflow_shim_reset(); }
  void TearDown() override {
    holoflow_shim_reset();
    (void)cudaGetLastError();
  }
};

/// Allocations that the compiler cannot leave out.
void allocate(size_t number) {
  for (size_t i = 0; i < number; ++i) {
    void *volatile memory = std::malloc(i + 1);
    std::free(memory);
  }
}

TEST_F(CountingShim, CountsCallsByNameAndPassesThemOn) {
  const int before = fake_cudart_calls();
  void *memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 16), 0);
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(cudaFree(memory), 0);
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_EQ(fake_cudart_calls(), before + 4);
  EXPECT_EQ(holoflow_shim_count("cudaMalloc"), 1u);
  EXPECT_EQ(holoflow_shim_count("cudaDeviceSynchronize"), 2u);
  EXPECT_EQ(holoflow_shim_count("no such function"), 0u);
  EXPECT_EQ(holoflow_shim_calls(), 4u);
}

TEST_F(CountingShim, LaunchesArriveWithTheirArguments) {
  std::array<void *, 1> parameters{};
  EXPECT_EQ(__cudaLaunchKernel(nullptr, {1, 2, 3}, {4, 5, 6}, parameters.data(), 7, nullptr), 0);
  EXPECT_EQ(fake_cudart_grid_z(), 3u);
  EXPECT_EQ(fake_cudart_parameters(), parameters.data());
  EXPECT_EQ(holoflow_shim_count("cudaLaunchKernel"), 1u);
}

TEST_F(CountingShim, FunctionThatTheRuntimeLacksIsAnError) {
  EXPECT_NE(cudaGraphLaunch(nullptr, nullptr), 0);
  EXPECT_NE(cudaGetLastError(), 0);
  EXPECT_EQ(holoflow_shim_count("cudaGraphLaunch"), 1u);
}

TEST_F(CountingShim, CountsAndFailsFunctionsOfTheDriverThatAreAskedForByName) {
  void *found = nullptr;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuFuncGetParamInfo", &found, 12040, 0, nullptr), 0);
  EXPECT_EQ(found, nullptr);
  const char *name = "cuGraphExecKernelNodeSetParams";
  ASSERT_EQ(cudaGetDriverEntryPointByVersion(name, &found, 12040, 0, nullptr), 0);
  int (*set_parameters)(void *, void *, const void *) = nullptr;
  std::memcpy(&set_parameters, &found, sizeof(found));
  ASSERT_NE(set_parameters, nullptr);

  const int before = fake_cudart_calls();
  EXPECT_EQ(set_parameters(nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(fake_cudart_calls(), before + 1);
  EXPECT_EQ(holoflow_shim_count(name), 1u);
  EXPECT_EQ(holoflow_shim_count("cudaGetDriverEntryPointByVersion"), 2u);

  ASSERT_TRUE(holoflow_shim_fail(name, 1, invalid_value));
  EXPECT_EQ(set_parameters(nullptr, nullptr, nullptr), invalid_value);
  EXPECT_EQ(cudaGetLastError(), 0) << "it is no error of the runtime";
  EXPECT_EQ(fake_cudart_calls(), before + 1) << "the failing call must not arrive";
  EXPECT_EQ(set_parameters(nullptr, nullptr, nullptr), 0);
}

TEST_F(CountingShim, CountsHostAllocationsOfAllThreads) {
  const auto before = holoflow_shim_count("malloc");
  allocate(100);
  EXPECT_EQ(holoflow_shim_count("malloc") - before, 100u);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] { allocate(1000); });
  for (auto &thread : threads)
    thread.join();
  EXPECT_GE(holoflow_shim_count("malloc") - before, 4100u);
}

TEST_F(CountingShim, CountsEveryKindOfAllocation) {
  const auto counted = [](auto allocation) {
    const auto before = holoflow_shim_count("malloc");
    void *volatile memory = allocation();
    const auto after = holoflow_shim_count("malloc");
    std::free(memory);
    return after - before;
  };
  EXPECT_EQ(counted([] { return std::calloc(3, 5); }), 1u);
  EXPECT_EQ(counted([] { return std::realloc(nullptr, 5); }), 1u);
  EXPECT_EQ(counted([] { return std::aligned_alloc(64, 128); }), 1u);
  EXPECT_EQ(counted([]() -> void * { return ::operator new(9); }), 1u);
  EXPECT_EQ(counted([]() -> void * { return ::operator new(64, std::align_val_t(64)); }), 1u);
  EXPECT_EQ(
      counted([] {
        void *memory = nullptr;
        return posix_memalign(&memory, 64, 128) == 0 ? memory : nullptr;
      }),
      1u);
}

TEST_F(CountingShim, TellsAllocationsOfCudaApart) {
  void *memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 16), 0);
  EXPECT_EQ(holoflow_shim_count("malloc in CUDA"), 1u);
  EXPECT_EQ(cudaFree(memory), 0);
}

TEST_F(CountingShim, NthCallOfAFunctionFailsOnce) {
  ASSERT_TRUE(holoflow_shim_fail("cudaDeviceSynchronize", 2, invalid_value));
  const int before = fake_cudart_calls();
  void *memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 16), 0);
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_EQ(cudaFree(memory), 0);
  EXPECT_EQ(cudaDeviceSynchronize(), invalid_value);
  EXPECT_EQ(fake_cudart_calls(), before + 3) << "the failing call must not arrive";
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
}

TEST_F(CountingShim, AnyCallFailsAndSoDoesALaunch) {
  ASSERT_TRUE(holoflow_shim_fail("any", 3, 719));
  allocate(10);  // no call of CUDA
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_EQ(__cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), 719);
  // <<<>>> drops what the launch returns; this is where it is seen.
  EXPECT_EQ(cudaPeekAtLastError(), 719);
  EXPECT_EQ(cudaGetLastError(), 719);
  EXPECT_EQ(cudaGetLastError(), 0);
}

TEST_F(CountingShim, LostDeviceStaysLostUntilReset) {
  holoflow_shim_fail_from(2, 700);
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_EQ(holoflow_shim_failed(), nullptr);
  EXPECT_EQ(cudaGetLastError(), 0);
  const int before = fake_cudart_calls();
  EXPECT_EQ(__cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), 700);
  void *memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 16), 700);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(fake_cudart_calls(), before) << "no call must arrive";
  EXPECT_STREQ(holoflow_shim_failed(), "cudaLaunchKernel");
  EXPECT_EQ(cudaGetLastError(), 700);
  EXPECT_EQ(cudaGetLastError(), 700) << "such an error cannot be cleared";
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), 700); }).join();
  holoflow_shim_reset();
  EXPECT_EQ(cudaGetLastError(), 0);
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_EQ(holoflow_shim_failed(), nullptr);
}

TEST_F(CountingShim, FailingCallStillGivesBack) {
  const long before = holoflow_shim_alive("device memory");
  void *memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 16), 0);
  EXPECT_EQ(holoflow_shim_alive("device memory"), before + 1);
  ASSERT_TRUE(holoflow_shim_fail("cudaFree", 1, invalid_value));
  int calls = fake_cudart_calls();
  EXPECT_EQ(cudaFree(memory), invalid_value);
  EXPECT_EQ(fake_cudart_calls(), calls + 1);
  EXPECT_EQ(holoflow_shim_alive("device memory"), before);

  ASSERT_EQ(cudaMalloc(&memory, 16), 0);
  holoflow_shim_fail_from(1, 700);
  calls = fake_cudart_calls();
  EXPECT_EQ(cudaFree(memory), 700);
  EXPECT_EQ(fake_cudart_calls(), calls + 2) << "it has to wait for the device first";
  EXPECT_EQ(holoflow_shim_alive("device memory"), before);
}

TEST_F(CountingShim, OnlyWhatWasCreatedIsAlive) {
  const long before = holoflow_shim_alive("device memory");
  ASSERT_TRUE(holoflow_shim_fail("cudaMalloc", 1, 2));
  void *memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 16), 2);
  EXPECT_EQ(cudaFree(nullptr), 0);
  EXPECT_EQ(holoflow_shim_alive("device memory"), before);
  EXPECT_EQ(holoflow_shim_alive("no such thing"), 0);
}

TEST_F(CountingShim, AllocationCanFail) {
  ASSERT_TRUE(holoflow_shim_fail("malloc", 2, 0));
  void *volatile first = std::malloc(8);
  void *volatile second = std::malloc(8);
  void *volatile third = std::malloc(8);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(second, nullptr);
  EXPECT_NE(third, nullptr);
  std::free(first);
  std::free(third);
}

TEST_F(CountingShim, NothingFailsAfterResetOrForZero) {
  ASSERT_TRUE(holoflow_shim_fail("any", 1, invalid_value));
  ASSERT_TRUE(holoflow_shim_fail("any", 0, invalid_value));
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  ASSERT_TRUE(holoflow_shim_fail("any", 1, invalid_value));
  holoflow_shim_reset();
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_FALSE(holoflow_shim_fail("no such function", 1, invalid_value));
}

TEST_F(CountingShim, OneFailureForManyThreads) {
  ASSERT_TRUE(holoflow_shim_fail("any", 50, invalid_value));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k)
        failures += cudaDeviceSynchronize() == invalid_value ? 1 : 0;
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(holoflow_shim_count("cudaDeviceSynchronize"), 400u);
}

TEST_F(CountingShim, ReportNamesWhatWasCountedAndAllocatesNothing) {
  (void)cudaDeviceSynchronize();
  std::array<char, 4096> text{};
  const auto before = holoflow_shim_count("malloc");
  const size_t length = holoflow_shim_report(text.data(), text.size());
  EXPECT_EQ(holoflow_shim_count("malloc"), before);
  const std::string report(text.data(), length);
  EXPECT_NE(report.find("cudaDeviceSynchronize 1\n"), std::string::npos) << report;
  EXPECT_EQ(report.find("cudaMalloc"), std::string::npos) << report;
  std::array<char, 4> little{};
  EXPECT_EQ(holoflow_shim_report(little.data(), little.size()), 3u);
  EXPECT_EQ(little[3], '\0');
}

}  // namespace
