// SPDX-License-Identifier: LGPL-2.1-or-later
// A graph in a C++ program without GStreamer: push frames in, pop frames out.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holoflow/core/registry.hh"
#include "holoflow/runtime/compiler.hh"

namespace holoflow::runtime {

/// One tensor that left the graph: packed, Host memory, lent until the object dies (also after the
/// runner is gone).
class OutputTensor {
public:
  OutputTensor(
      std::shared_ptr<const core::TDesc> desc, const std::byte *data,
      std::span<const core::FrameRecord> records, std::function<void()> release);
  OutputTensor(OutputTensor &&other) noexcept;
  OutputTensor &operator=(OutputTensor &&other) noexcept;
  ~OutputTensor();

  // Not of an object that was moved from.
  [[nodiscard]] const core::TDesc &desc() const noexcept { return *desc_; }
  [[nodiscard]] const std::byte *data() const noexcept { return data_; }
  /// One per frame; lent like the data.
  [[nodiscard]] std::span<const core::FrameRecord> records() const noexcept { return records_; }

private:
  std::shared_ptr<const core::TDesc> desc_;
  const std::byte *data_ = nullptr;
  std::span<const core::FrameRecord> records_;
  std::function<void()> release_;
};

/// Compiles a graph and runs it. Each Input needs a tensor in Config::inputs.
///
/// Threads: one thread pushes to an input, one pops from an output; they may differ, and must where
/// the graph holds fewer frames than one side moves before the other. end, stop and the destructor
/// may be called from any of them.
/// Errors: the from_ functions throw GraphError, CompileError, DeviceError; push and pop rethrow
/// the error that ended the run.
class GraphRunner {
public:
  using Config = CompilerConfig;

  /// `registry` may bring tasks of the application's own and must outlive the runner; null: the
  /// built-in tasks.
  [[nodiscard]] static GraphRunner from_file(
      const std::filesystem::path &path, Config config = {}, core::Registry *registry = nullptr);
  [[nodiscard]] static GraphRunner from_json(
      std::string_view json, Config config = {}, core::Registry *registry = nullptr);
  [[nodiscard]] static GraphRunner from_chain(
      std::string_view chain, Config config = {}, core::Registry *registry = nullptr);
  [[nodiscard]] static GraphRunner from_spec(
      const core::GraphSpec &spec, Config config = {}, core::Registry *registry = nullptr);

  GraphRunner(GraphRunner &&) noexcept;
  GraphRunner &operator=(GraphRunner &&) noexcept;
  ~GraphRunner();

  /// Copies nothing where `frames` is packed Host memory of the input's tensor: it is borrowed
  /// until `release` is called (exactly once, from any thread). Device memory is copied to Host
  /// memory behind `ready`, before push returns. Waits while the graph is full. False where the
  /// graph takes no more.
  bool push(
      const std::string &input, const core::TView &frames,
      std::vector<core::FrameRecord> records = {}, std::function<void()> release = {},
      std::optional<DeviceEvent> ready = std::nullopt);
  bool push(
      const std::string &input, const void *data, const core::TDesc &desc,
      std::vector<core::FrameRecord> records = {}, std::function<void()> release = {},
      std::optional<DeviceEvent> ready = std::nullopt);
  /// The next tensor of an Output; nothing once the graph has drained or was stopped. A tensor
  /// whose frames are all padding or came before, in an overlapping window, is left out.
  [[nodiscard]] std::optional<OutputTensor> pop(const std::string &output);

  /// No more frames for any input: the graph drains and every pop ends.
  void end();
  /// No more frames for this input; others may go on. Where several inputs feed one graph, each
  /// should be ended when it has nothing more: the others may wait for room until then.
  void end(const std::string &input);
  /// Ends the run at once.
  void stop();

  [[nodiscard]] const CompilerOutput &compiled() const;
  [[nodiscard]] Scheduler &scheduler();

private:
  class Impl;
  explicit GraphRunner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holoflow::runtime
