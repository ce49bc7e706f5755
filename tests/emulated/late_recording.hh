// SPDX-License-Identifier: LGPL-2.1-or-later
// Recorded work of the emulated GPU.
#pragma once

#include <functional>
#include <vector>

#include "holoflow/device/moving_words.hh"

namespace holoflow::emulated {

class LateDevice;

/// What a kernel would be, with the addresses that it is given.
struct LateWork {
  std::vector<std::byte *> addresses;
  std::function<void(std::span<std::byte *const>)> run;
  bool hides_addresses = false;  ///< it uses others too, so its recording cannot follow any
};

/// Operations that were recorded instead of enqueued, in order. Addresses are followed as on a real
/// GPU, through their images.
class LateRecording final : public runtime::RecordedWork {
public:
  LateRecording(
      LateDevice &device, std::vector<LateWork> work, std::vector<runtime::RecordedMemory> memory);
  ~LateRecording() override;

  [[nodiscard]] size_t operations() const noexcept override { return work_.size(); }
  [[nodiscard]] std::string forget_noise(const RecordedWork &again) override;
  [[nodiscard]] std::string learn(const RecordedWork &moved) override;
  [[nodiscard]] bool can_follow(std::span<std::byte *const> memory) const noexcept override {
    return words_.can_follow(memory);
  }
  void prepare() override;
  void launch(cudaStream_t stream, std::span<std::byte *const> memory) override;

private:
  LateDevice &device_;
  std::vector<LateWork> work_;
  runtime::MovingWords words_;
  bool is_prepared_ = false;
};

}  // namespace holoflow::emulated
