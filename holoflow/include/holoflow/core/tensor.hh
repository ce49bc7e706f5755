// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors as values: element types, descriptors, views and the records that travel beside frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holoflow::core {

/// Element types. CF32 is two F32: real part, imaginary part.
enum class DType : uint8_t { U8, U16, F32, CF32 };

/// Bytes of one element.
[[nodiscard]] size_t size_of(DType dtype) noexcept;
/// "U8", "U16", "F32", "CF32".
[[nodiscard]] std::string_view to_string(DType dtype) noexcept;
/// The type of that name, or nothing.
[[nodiscard]] std::optional<DType> dtype_from_string(std::string_view name) noexcept;

/// Where memory lives. Host memory of a graph on a GPU is page-locked.
enum class MemLoc : uint8_t { Host, Device };

/// "Host", "Device".
[[nodiscard]] std::string_view to_string(MemLoc loc) noexcept;

/// One piece of memory. Views hold its address, so an owner moves every view by changing `ptr`.
struct Storage {
  MemLoc mem_loc = MemLoc::Host;
  size_t bytes = 0;
  std::byte *ptr = nullptr;
};

/// What the axes of a tensor mean to media people. Never part of a descriptor's equality.
struct MediaInfo {
  std::string pixel_format = {};  ///< GStreamer's name ("GRAY8", "RGB", "NV12"), empty if unknown
  std::string colour_matrix = {};  ///< "bt601", "bt709", …; empty if unknown
  std::string colour_range = {};  ///< "0-255" or "16-235"; empty if unknown
  std::optional<int> channel_axis = {};  ///< axis of the colour channels, if there is one
  std::optional<size_t> records = {};  ///< number of frame records, where it is not shape[0]
};

/// Describes an n-dimensional array inside a storage. Strides and offset are in bytes.
struct TDesc {
  std::vector<size_t> shape;
  DType dtype = DType::U8;
  MemLoc mem_loc = MemLoc::Host;
  std::vector<size_t> strides;
  size_t offset = 0;
  std::optional<MediaInfo> media = {};

  TDesc() = default;
  /// Packed row-major. Throws std::overflow_error where the byte size does not fit size_t.
  TDesc(std::vector<size_t> shape, DType dtype, MemLoc mem_loc, size_t offset = 0);
  /// Any strides, one per axis; throws std::invalid_argument where their number differs.
  TDesc(
      std::vector<size_t> shape, DType dtype, MemLoc mem_loc, std::vector<size_t> strides,
      size_t offset = 0);

  [[nodiscard]] size_t rank() const noexcept { return shape.size(); }
  /// Product of the shape; 1 for rank 0. Throws std::overflow_error.
  [[nodiscard]] size_t num_elements() const;
  /// Extent of the view in bytes, from its first to behind its last element, without the offset;
  /// 0 where there are no elements. Throws std::overflow_error.
  [[nodiscard]] size_t num_bytes() const;

  /// Same shape, dtype, location, strides and offset. `media` does not count.
  friend bool operator==(const TDesc &a, const TDesc &b) noexcept {
    return a.dtype == b.dtype && a.mem_loc == b.mem_loc && a.offset == b.offset &&
        a.shape == b.shape && a.strides == b.strides;
  }
};

/// Whether the elements lie row-major without gaps (the offset does not matter).
[[nodiscard]] bool is_packed(const TDesc &desc);
/// Strides of a packed row-major array. Throws std::overflow_error.
[[nodiscard]] std::vector<size_t> packed_strides(const std::vector<size_t> &shape, DType dtype);
/// "F32 [1, 480, 640] on Device", with strides and offset where the view is not packed at 0.
[[nodiscard]] std::string to_string(const TDesc &desc);

void to_json(nlohmann::json &json, DType dtype);
void from_json(const nlohmann::json &json, DType &dtype);
void to_json(nlohmann::json &json, MemLoc loc);
void from_json(const nlohmann::json &json, MemLoc &loc);
void to_json(nlohmann::json &json, const TDesc &desc);
void from_json(const nlohmann::json &json, TDesc &desc);

/// A tensor in a storage. Borrowed: valid as long as the storage is.
struct TView {
  TDesc desc;
  Storage *storage = nullptr;

  /// First element: storage->ptr + desc.offset, or nullptr where the storage is empty.
  [[nodiscard]] std::byte *data() const noexcept {
    return storage != nullptr && storage->ptr != nullptr ? storage->ptr + desc.offset : nullptr;
  }
};

/// A tensor that owns pageable host memory of offset + extent bytes, zeroed.
/// Device tensors belong to the compiler and to tasks: the constructor refuses MemLoc::Device with
/// std::invalid_argument.
class Tensor {
public:
  explicit Tensor(const TDesc &desc);

  [[nodiscard]] std::byte *data() noexcept { return storage_->ptr + desc_.offset; }
  [[nodiscard]] const std::byte *data() const noexcept { return storage_->ptr + desc_.offset; }
  [[nodiscard]] const TDesc &desc() const noexcept { return desc_; }
  [[nodiscard]] TView view() noexcept { return {desc_, storage_.get()}; }

private:
  TDesc desc_;
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<Storage> storage_;  // on the heap, so that views survive a move of the tensor
};

/// What is known of one frame. Times are nanoseconds, -1 where unknown.
struct FrameRecord {
  enum Flags : uint32_t {
    None = 0,
    Discontinuity = 1u << 0,  ///< does not continue the frame before it
    Gap = 1u << 1,  ///< stands for missing media
    Corrupted = 1u << 2,  ///< known to be damaged
    Padding = 1u << 3,  ///< repeats a frame to fill a batch; never emitted
  };
  static constexpr uint64_t unknown_sequence = ~uint64_t{0};

  int64_t pts_ns = -1;
  int64_t dts_ns = -1;
  int64_t duration_ns = -1;
  uint64_t sequence = unknown_sequence;  ///< counts the frames of one Input from 0
  uint32_t flags = None;
  std::shared_ptr<void> owner = {};  ///< the application's own, carried untouched
};

}  // namespace holoflow::core
