// SPDX-License-Identifier: LGPL-2.1-or-later
// Opening cuFFT: what a person without it reads. Needs no GPU.
#include "holoflow/tasks/fft/cufft_library.hh"

#include <gtest/gtest.h>

#include <algorithm>

#include "holoflow/core/error.hh"

namespace holoflow::test {
namespace {

std::string failure(const std::vector<std::string> &candidates) {
  try {
    (void)tasks::open_cufft(candidates);
  } catch (const core::DeviceError &error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(CufftLibrary, LooksOnTheLoadersPathsFirst) {
  const std::vector<std::string> candidates = tasks::cufft_candidates();
  ASSERT_GE(candidates.size(), 3U);
  EXPECT_EQ(candidates[0], "libcufft.so.12");
  EXPECT_EQ(candidates[1], "libcufft.so");
  EXPECT_EQ(candidates.back(), "/usr/local/cuda/lib64/libcufft.so.12");
}

TEST(CufftLibrary, MissingLibraryNamesWhatWasLookedForAndHowToGetIt) {
  const std::string text = failure({"libholoflow-absent-a.so", "/absent/libholoflow-absent-b.so"});
  EXPECT_EQ(
      text.find("cuFFT not found: looked for libholoflow-absent-a.so, "
                "/absent/libholoflow-absent-b.so ("),
      0U)
      << text;
  EXPECT_NE(
      text.find("; install cuFFT of CUDA 13 (NVIDIA's package libcufft-13-0, or the CUDA "
                "toolkit), add its folder to LD_LIBRARY_PATH, or compile the graph for "
                "\"cpu\""),
      std::string::npos)
      << text;
}

TEST(CufftLibrary, AnotherLibraryIsNotTakenForIt) {
  EXPECT_EQ(
      failure({"libholoflow-absent.so", "libm.so.6"}),
      "cuFFT: libm.so.6 has no function cufftGetVersion; expected cuFFT 12 (CUDA 13): install "
      "NVIDIA's package libcufft-13-0");
}

TEST(CufftLibrary, FailedCallIsNamedWithItsError) {
  EXPECT_NO_THROW(tasks::check_cufft(CUFFT_SUCCESS, "cufftExecC2C"));
  try {
    tasks::check_cufft(CUFFT_ALLOC_FAILED, "cufftMakePlanMany64");
    FAIL() << "nothing was thrown";
  } catch (const core::DeviceError &error) {
    EXPECT_STREQ(error.what(), "cufftMakePlanMany64 failed: CUFFT_ALLOC_FAILED (2)");
  }
}

}  // namespace
}  // namespace holoflow::test
