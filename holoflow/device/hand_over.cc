// SPDX-License-Identifier: LGPL-2.1-or-later
// Marks of streams, by stream.
#include "holoflow/device/hand_over.hh"

#include <map>
#include <mutex>
#include <utility>

namespace holoflow::runtime {

namespace {

// More than a section has iterations in flight and a queue of usual depth has slots.
constexpr size_t event_count = 128;

}  // namespace

StreamMarks::StreamMarks(Device &device, cudaStream_t stream) : device_(device), stream_(stream) {
  if (!device.is_gpu())
    return;
  const DeviceScope scope(device);
  for (size_t i = 0; i < event_count; ++i)
    events_.emplace_back(device);
}

std::shared_ptr<StreamMarks> StreamMarks::of(Device &device, cudaStream_t stream) {
  if (!device.is_gpu() || stream == nullptr)
    return std::make_shared<StreamMarks>(device, stream);
  // Never destroyed: tasks may die while static objects go.
  static std::mutex mutex;  // guards the map
  static auto *const known = new std::map<std::pair<int, cudaStream_t>, std::weak_ptr<StreamMarks>>;
  const std::lock_guard lock(mutex);
  auto &entry = (*known)[{device.index(), stream}];
  auto marks = entry.lock();
  if (marks == nullptr) {
    marks = std::make_shared<StreamMarks>(device, stream);
    entry = marks;
    std::erase_if(*known, [](const auto &item) { return item.second.expired(); });
  }
  return marks;
}

}  // namespace holoflow::runtime
