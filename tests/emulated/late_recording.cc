// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/emulated/late_recording.hh"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "tests/emulated/late_device.hh"

namespace holoflow::emulated {

namespace {

runtime::ParameterImages images_of(const std::vector<LateWork> &work) {
  runtime::ParameterImages images;
  for (const auto &operation : work) {
    auto &image = images.emplace_back(operation.addresses.size() * sizeof(std::byte *));
    std::memcpy(image.data(), operation.addresses.data(), image.size());
  }
  return images;
}

}  // namespace

LateRecording::LateRecording(
    LateDevice &device, std::vector<LateWork> work, std::vector<runtime::RecordedMemory> memory)
    : device_(device), work_(std::move(work)), words_(images_of(work_), std::move(memory)) {
  device_.count_recording(1);
}

LateRecording::~LateRecording() {
  device_.count_recording(-1);
}

std::string LateRecording::forget_noise(const RecordedWork &again) {
  return words_.forget_noise(dynamic_cast<const LateRecording &>(again).words_);
}

std::string LateRecording::learn(const RecordedWork &moved) {
  const auto &other = dynamic_cast<const LateRecording &>(moved);
  for (const auto &operation : work_)
    if (operation.hides_addresses || device_.refuses_to_follow())
      return "an operation takes no other addresses";
  return words_.learn(other.words_);
}

void LateRecording::prepare() {
  device_.count("prepare");
  is_prepared_ = true;
}

void LateRecording::launch(cudaStream_t stream, std::span<std::byte *const> memory) {
  if (!is_prepared_ || !can_follow(memory))
    throw std::logic_error("a recording was launched that was not ready for it");
  for (const auto operation : words_.move(memory)) {
    device_.count("set_parameters");
    auto &addresses = work_[operation].addresses;
    std::memcpy(addresses.data(), words_.image(operation), addresses.size() * sizeof(std::byte *));
  }
  device_.launch_recorded(stream, work_);
}

}  // namespace holoflow::emulated
