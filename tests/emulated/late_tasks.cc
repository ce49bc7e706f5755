// SPDX-License-Identifier: LGPL-2.1-or-later
// Makers for Device tensors: Host implementations that run late, and the queues.
#include "tests/emulated/late_tasks.hh"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "holoflow/tasks/batch_queue/batch_queue_task.hh"
#include "holoflow/tasks/dual_reader/dual_reader_task.hh"
#include "holoflow/tasks/sliding/sliding_task.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"
#include "tests/emulated/late_device.hh"

namespace holoflow::emulated {

namespace {

using core::TDesc;
using tasks::AsyncMaker;
using tasks::MakeArgs;
using tasks::SyncMaker;

/// The views of one call, without their storages, which have moved on before it runs.
class FrozenViews {
public:
  explicit FrozenViews(std::span<const core::TView> views) {
    for (const core::TView &view : views) {
      descs_.push_back(view.desc);
      storages_.push_back(view.storage == nullptr ? core::Storage{} : *view.storage);
    }
  }
  void append_addresses(std::vector<std::byte *> &addresses) const {
    for (const auto &storage : storages_)
      addresses.push_back(storage.ptr);
  }
  /// `addresses` begins with those of these views; the rest is returned.
  std::span<std::byte *const> thaw(
      std::span<std::byte *const> addresses, std::vector<core::Storage> &storages,
      std::vector<core::TView> &views) const {
    storages = storages_;
    for (size_t i = 0; i < descs_.size(); ++i) {
      storages[i].ptr = addresses[i];
      views.push_back({descs_[i], &storages[i]});
    }
    return addresses.subspan(descs_.size());
  }

private:
  std::vector<TDesc> descs_;
  std::vector<core::Storage> storages_;
};

/// Enqueues the calls of a Host task.
class LateTask final : public core::ISyncTask {
public:
  LateTask(std::unique_ptr<core::ISyncTask> host, cudaStream_t stream)
      : host_(std::move(host)), stream_(stream) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    const FrozenViews in(ctx.inputs), out(ctx.outputs);
    LateWork work;
    in.append_addresses(work.addresses);
    out.append_addresses(work.addresses);
    work.run = [host = host_, in, out](std::span<std::byte *const> addresses) {
      std::vector<core::Storage> in_storages, out_storages;
      std::vector<core::TView> inputs, outputs;
      out.thaw(in.thaw(addresses, in_storages, inputs), out_storages, outputs);
      core::SyncCtx late;
      late.inputs = inputs;
      late.outputs = outputs;
      if (host->execute(late) != core::OpResult::Ok)
        throw std::logic_error("a Host task that only computes did not return Ok");
    };
    late_device().launch(stream_, std::move(work));
    return core::OpResult::Ok;
  }

private:
  std::shared_ptr<core::ISyncTask> host_;  // shared with the calls that are pending
  cudaStream_t stream_;
};

SyncMaker late_maker(SyncMaker make_host) {
  return [make_host = std::move(make_host)](const MakeArgs<core::SyncCreateCtx> &args) {
    core::SyncCreateCtx on_host = args.ctx;
    on_host.stream = nullptr;
    on_host.device = -1;
    return std::make_unique<LateTask>(
        make_host({args.inputs, args.infer, args.params, on_host}), args.ctx.stream);
  };
}

void pack(const TDesc &from_desc, const std::byte *from, std::byte *to, cudaStream_t stream) {
  late_device().launch(stream, [from_desc, from, to] {
    tasks::copy_strided(from_desc, from, tasks::packed_like(from_desc), to);
  });
}

// Adds in the same order as Host and CUDA, for the same bits.
void mean(const tasks::RingFrames &frames, float *to, cudaStream_t stream) {
  late_device().launch(stream, [frames, to] {
    for (size_t element = 0; element < frames.elements; ++element) {
      double sum = 0;
      for (size_t i = 0; i < frames.count; ++i)
        sum += static_cast<double>(
            frames.ring[(frames.first + i) % frames.slots * frames.elements + element]);
      to[element] = static_cast<float>(sum / static_cast<double>(frames.count));
    }
  });
}

void register_synchronous(core::Registry &registry) {
  for (const auto &type : registry.keys()) {
    const tasks::TaskSpec *spec = tasks::find_spec(registry, type);
    const bool host_only = type == "Input" || type == "Output";
    if (spec != nullptr && spec->make_sync && !spec->host_maker_serves_device && !host_only)
      tasks::add_device_maker(registry, type, late_maker(spec->make_sync));
  }
}

}  // namespace

void register_late_tasks(core::Registry &registry) {
  // Built-in types come all or none; a program that registers only its own has nothing to complete.
  if (tasks::find_spec(registry, "Input") == nullptr)
    return;
  register_synchronous(registry);
  const auto add = [&registry]<typename Maker>(const char *type, Maker maker) {
    tasks::add_device_maker(registry, type, std::move(maker));
  };
  add("BatchQueue", AsyncMaker([](const MakeArgs<core::AsyncCreateCtx> &args) {
        return tasks::make_batch_queue(args, pack);
      }));
  add("DualReaderBatchQueue", AsyncMaker([](const MakeArgs<core::AsyncCreateCtx> &args) {
        return tasks::make_dual_reader(args, pack);
      }));
  add("SlidingAverage", AsyncMaker([](const MakeArgs<core::AsyncCreateCtx> &args) {
        return tasks::make_sliding_average(args, {pack, mean});
      }));
  // Its own maker instead of the one above: the ring lies on the device.
  add("CausalSlidingAverage", SyncMaker([](const MakeArgs<core::SyncCreateCtx> &args) {
        return tasks::make_causal_average(args, {pack, mean});
      }));
}

}  // namespace holoflow::emulated
