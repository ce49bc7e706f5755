// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs one synchronous task on arrays of numbers.
#include "tests/tasks/task_test.hh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::test {
namespace {

using core::DType;
using core::MemLoc;
using core::TDesc;

constexpr std::byte gap_byte{0xCD};

MemLoc location(Place place) {
  return place == Place::Host ? MemLoc::Host : MemLoc::Device;
}

runtime::Device &device_of(Place place) {
  return place == Place::Host ? runtime::host_device() : runtime::cuda_device();
}

/// Calls visit(byte offset from the view's storage) for each element, row-major.
template <typename Visit> void for_each_element(const TDesc &desc, Visit visit) {
  const size_t count = desc.num_elements();
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    size_t offset = desc.offset;
    for (size_t axis = desc.rank(); axis-- > 0;) {
      offset += rest % desc.shape[axis] * desc.strides[axis];
      rest /= desc.shape[axis];
    }
    visit(offset);
  }
}

template <typename T> void put(std::byte *to, double value) {
  const T element = static_cast<T>(value);
  std::memcpy(to, &element, sizeof(T));
}

template <typename T> double take(const std::byte *from) {
  T element;
  std::memcpy(&element, from, sizeof(T));
  return static_cast<double>(element);
}

std::vector<std::byte> to_bytes(const Array &array, const TDesc &desc) {
  std::vector<std::byte> bytes(desc.offset + desc.num_bytes(), gap_byte);
  const double *value = array.values.data();
  for_each_element(desc, [&](size_t offset) {
    std::byte *to = bytes.data() + offset;
    switch (desc.dtype) {
    case DType::U8:
      put<uint8_t>(to, *value++);
      break;
    case DType::U16:
      put<uint16_t>(to, *value++);
      break;
    case DType::F32:
      put<float>(to, *value++);
      break;
    case DType::CF32:
      put<float>(to, *value++);
      put<float>(to + sizeof(float), *value++);
      break;
    }
  });
  return bytes;
}

Array from_bytes(const std::vector<std::byte> &bytes, const TDesc &desc) {
  Array array{desc.shape, desc.dtype, {}};
  array.media = desc.media;
  for_each_element(desc, [&](size_t offset) {
    const std::byte *from = bytes.data() + offset;
    switch (desc.dtype) {
    case DType::U8:
      array.values.push_back(take<uint8_t>(from));
      break;
    case DType::U16:
      array.values.push_back(take<uint16_t>(from));
      break;
    case DType::F32:
      array.values.push_back(take<float>(from));
      break;
    case DType::CF32:
      array.values.push_back(take<float>(from));
      array.values.push_back(take<float>(from + sizeof(float)));
      break;
    }
  });
  return array;
}

/// A storage with memory of the place, filled from and read back to host bytes.
struct Slot {
  Slot(Place place, const std::vector<std::byte> &bytes)
      : block(device_of(place), location(place), bytes.size()), storage{
                                                                    location(place), bytes.size(),
                                                                    block.get()} {}

  runtime::MemoryBlock block;
  core::Storage storage;
};

std::vector<TDesc> descs_of(const std::vector<Array> &inputs, Place place) {
  std::vector<TDesc> descs;
  for (const Array &input : inputs)
    descs.push_back(input.desc(place));
  return descs;
}

size_t record_count(const TDesc &desc) {
  if (desc.media && desc.media->records)
    return *desc.media->records;
  return desc.rank() >= 3 ? desc.shape[0] : 1;
}

std::vector<std::span<core::FrameRecord>> spans_of(
    std::vector<std::vector<core::FrameRecord>> &records) {
  return {records.begin(), records.end()};
}

const core::InPlace *sharing_of(const core::InferResult &infer, size_t output, Sharing sharing) {
  for (const core::InPlace &in_place : infer.in_place)
    if (static_cast<size_t>(in_place.out_idx) == output &&
        (in_place.required || sharing == Sharing::On))
      return &in_place;
  return nullptr;
}

/// One task with its memory, for one run.
class Bench {
public:
  Bench(Place place, const std::vector<Array> &inputs)
      : place_(place), device_(device_of(place)), scope_(device_), stream_(device_) {
    descs_ = descs_of(inputs, place);
    for (size_t i = 0; i < inputs.size(); ++i)
      add_slot(to_bytes(inputs[i], descs_[i]));
    input_bytes_.assign(bytes_.begin(), bytes_.end());
  }

  TaskRun run(const std::string &type, const nlohmann::json &params, Sharing sharing) {
    const core::ISyncTaskFactory &factory = registry(place_).get_sync(type);
    TaskRun run;
    tasks::InferContext context;
    context.compute_location = location(place_);
    const auto *contextual = dynamic_cast<const tasks::IContextualSyncFactory *>(&factory);
    core::SyncCreateCtx create_ctx;
    create_ctx.stream = stream_.get();
    create_ctx.device = device_.index();
    run.infer = contextual != nullptr ? contextual->infer_in(context, descs_, params)
                                      : factory.infer(descs_, params);
    const auto task = contextual != nullptr
        ? contextual->create_in(context, descs_, params, create_ctx)
        : factory.create(descs_, params, create_ctx);
    place_outputs(run.infer, sharing);
    execute(*task, run, writes_in_place_ ? 1 : 2);
    return run;
  }

private:
  void add_slot(std::vector<std::byte> bytes) {
    slots_.push_back(std::make_unique<Slot>(place_, bytes));
    bytes_.push_back(std::move(bytes));
    upload(slots_.size() - 1);
  }

  void upload(size_t slot) {
    device_.copy(
        slots_[slot]->storage.ptr, location(place_), bytes_[slot].data(), MemLoc::Host,
        bytes_[slot].size(), stream_.get());
    device_.synchronize(stream_.get());
  }

  std::vector<std::byte> download(size_t slot) {
    std::vector<std::byte> bytes(bytes_[slot].size());
    device_.copy(
        bytes.data(), MemLoc::Host, slots_[slot]->storage.ptr, location(place_), bytes.size(),
        stream_.get());
    device_.synchronize(stream_.get());
    return bytes;
  }

  void place_outputs(const core::InferResult &infer, Sharing sharing) {
    shared_.assign(descs_.size(), false);
    for (size_t i = 0; i < infer.output_descs.size(); ++i) {
      if (const core::InPlace *in_place = sharing_of(infer, i, sharing)) {
        const auto input = static_cast<size_t>(in_place->in_idx);
        output_slots_.push_back(input);
        shared_[input] = shared_[input] || in_place->writes;
        writes_in_place_ = writes_in_place_ || in_place->writes;
      } else {
        const TDesc &desc = infer.output_descs[i];
        output_slots_.push_back(slots_.size());
        add_slot(std::vector<std::byte>(desc.offset + desc.num_bytes(), gap_byte));
      }
    }
  }

  void execute(core::ISyncTask &task, TaskRun &run, int times) {
    std::vector<core::TView> inputs, outputs;
    std::vector<std::vector<core::FrameRecord>> input_records;
    for (size_t i = 0; i < descs_.size(); ++i) {
      inputs.push_back({descs_[i], &slots_[i]->storage});
      input_records.emplace_back(record_count(descs_[i]));
      for (size_t k = 0; k < input_records.back().size(); ++k)
        input_records.back()[k].sequence = k;
    }
    for (size_t i = 0; i < output_slots_.size(); ++i) {
      outputs.push_back({run.infer.output_descs[i], &slots_[output_slots_[i]]->storage});
      run.output_records.emplace_back(record_count(run.infer.output_descs[i]));
    }
    auto input_spans = spans_of(input_records);
    auto output_spans = spans_of(run.output_records);
    std::atomic<bool> cancelled = false;
    core::SyncCtx ctx{inputs, outputs, &cancelled, nullptr, nullptr, input_spans, output_spans};
    for (int i = 0; i < times; ++i)
      EXPECT_EQ(task.execute(ctx), core::OpResult::Ok);
    device_.synchronize(stream_.get());
    for (size_t i = 0; i < descs_.size(); ++i) {
      const bool kept = shared_[i] || download(i) == input_bytes_[i];
      EXPECT_TRUE(kept) << "the task wrote to input " << i;
    }
    for (size_t i = 0; i < output_slots_.size(); ++i)
      run.outputs.push_back(from_bytes(download(output_slots_[i]), run.infer.output_descs[i]));
  }

  Place place_;
  runtime::Device &device_;
  runtime::DeviceScope scope_;
  runtime::Stream stream_;
  std::vector<TDesc> descs_;
  std::vector<std::unique_ptr<Slot>> slots_;  // inputs, then outputs with a storage of their own
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::vector<std::byte>> input_bytes_;
  std::vector<size_t> output_slots_;
  std::vector<bool> shared_;
  bool writes_in_place_ = false;
};

core::Registry make_registry(Place place) {
  core::Registry made;
  register_builtin_tasks(made);
  if (place == Place::Device)
    runtime::register_cuda_tasks(made);
  return made;
}

Array make_array(std::vector<size_t> shape, DType dtype, std::vector<double> values) {
  size_t count = dtype == DType::CF32 ? 2 : 1;
  for (const size_t extent : shape)
    count *= extent;
  if (count != values.size())
    throw std::logic_error(
        "test array: " + std::to_string(values.size()) + " values for " + std::to_string(count) +
        " places");
  return {std::move(shape), dtype, std::move(values)};
}

bool close(double got, double want, const Tolerance &tolerance) {
  if (std::isnan(want))
    return std::isnan(got);
  if (got == want)
    return true;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

void check_vector(Place place, const TaskVector &vector, Sharing sharing) {
  SCOPED_TRACE(
      vector.name + ": " + vector.type + " " + vector.params.dump() +
      (sharing == Sharing::On ? ", in place" : ""));
  try {
    const TaskRun run = run_task(place, vector.type, vector.params, vector.inputs, sharing);
    ASSERT_EQ(run.outputs.size(), vector.outputs.size());
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      EXPECT_EQ(run.infer.output_descs[i].mem_loc, location(place));
      expect_equal(run.outputs[i], vector.outputs[i], vector.tolerance);
    }
  } catch (const std::exception &error) {
    ADD_FAILURE() << "threw: " << error.what();
  }
}

}  // namespace

Array Array::strided(std::vector<size_t> byte_strides, size_t byte_offset) const {
  Array array = *this;
  array.strides = std::move(byte_strides);
  array.offset = byte_offset;
  return array;
}

Array Array::with_media(core::MediaInfo info) const {
  Array array = *this;
  array.media = std::move(info);
  return array;
}

Array Array::with_channel_axis(int axis) const {
  core::MediaInfo info;
  info.channel_axis = axis;
  return with_media(info);
}

TDesc Array::desc(Place place) const {
  TDesc desc = strides ? TDesc(shape, dtype, location(place), *strides, offset)
                       : TDesc(shape, dtype, location(place), offset);
  desc.media = media;
  return desc;
}

Array u8(std::vector<size_t> shape, std::vector<double> values) {
  return make_array(std::move(shape), DType::U8, std::move(values));
}
Array u16(std::vector<size_t> shape, std::vector<double> values) {
  return make_array(std::move(shape), DType::U16, std::move(values));
}
Array f32(std::vector<size_t> shape, std::vector<double> values) {
  return make_array(std::move(shape), DType::F32, std::move(values));
}
Array cf32(std::vector<size_t> shape, const std::vector<std::complex<double>> &values) {
  std::vector<double> parts;
  for (const std::complex<double> &value : values) {
    parts.push_back(value.real());
    parts.push_back(value.imag());
  }
  return make_array(std::move(shape), DType::CF32, std::move(parts));
}

Array scattered(Array array) {
  const size_t size = size_of(array.dtype);
  std::vector<size_t> strides(array.shape.size());
  size_t step = 2 * size;
  for (size_t axis = array.shape.size(); axis-- > 0;) {
    strides[axis] = step;
    step = step * std::max<size_t>(array.shape[axis], 1) + size;
  }
  return array.strided(std::move(strides), 3 * size);
}

std::vector<double> iota(size_t count, double first) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

core::Registry &registry(Place place) {
  static core::Registry host = make_registry(Place::Host);
  if (place == Place::Host)
    return host;
  static core::Registry device = make_registry(Place::Device);
  return device;
}

TaskRun run_task(
    Place place, const std::string &type, const nlohmann::json &params,
    const std::vector<Array> &inputs, Sharing sharing) {
  return Bench(place, inputs).run(type, params, sharing);
}

core::InferResult infer_task(
    const std::string &type, const nlohmann::json &params, const std::vector<Array> &inputs,
    Place place) {
  return registry(Place::Host).get(type).infer(descs_of(inputs, place), params);
}

std::string refusal(
    const std::string &type, const nlohmann::json &params, const std::vector<Array> &inputs) {
  try {
    (void)infer_task(type, params, inputs);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  ADD_FAILURE() << type << " " << params << " was not refused";
  return "";
}

void expect_equal(const Array &got, const Array &want, const Tolerance &tolerance) {
  ASSERT_EQ(got.dtype, want.dtype);
  ASSERT_EQ(got.shape, want.shape);
  ASSERT_EQ(got.values.size(), want.values.size());
  for (size_t i = 0; i < want.values.size(); ++i)
    ASSERT_TRUE(close(got.values[i], want.values[i], tolerance))
        << "value " << i << ": got " << got.values[i] << ", want " << want.values[i];
}

void check_vectors(Place place, const std::vector<TaskVector> &vectors) {
  if (place == Place::Device && !have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const TaskVector &vector : vectors) {
    check_vector(place, vector, Sharing::Off);
    const core::InferResult infer = infer_task(vector.type, vector.params, vector.inputs, place);
    if (!infer.in_place.empty())
      check_vector(place, vector, Sharing::On);
  }
}

}  // namespace holoflow::test
