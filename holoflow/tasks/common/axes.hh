// SPDX-License-Identifier: LGPL-2.1-or-later
// Params that name axes: negative axes count from the end, null means a default.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "holoflow/core/tensor.hh"

namespace holoflow::tasks {

/// The axis as an index below `rank`. Throws ParamError where it is out of range; `param` names the
/// param in the message.
[[nodiscard]] size_t normalise_axis(int64_t axis, size_t rank, const std::string &param);

/// The axes that an integer, an array of integers or null (all axes) names, in the order given.
/// Throws ParamError where one is out of range or named twice.
[[nodiscard]] std::vector<size_t> normalise_axes(
    const nlohmann::json &value, size_t rank, const std::string &param = "axes");

/// The axis that `value` names, or for null the last one. Throws ParamError where it is out of
/// range, and where the last one is a channel axis that was not named.
[[nodiscard]] size_t axis_or_last(
    const core::TDesc &desc, const nlohmann::json &value, const std::string &param = "axis");

/// The axes that `value` names, the channel axis too, or for null those of the picture: the last
/// two before the channel axis (of a tensor with only one such axis, that one). Throws ParamError
/// where an axis is out of range or named twice.
[[nodiscard]] std::vector<size_t> spatial_axes(
    const core::TDesc &desc, const nlohmann::json &value, const std::string &param = "axes");

/// The axes below `rank` that are not in `axes`, ascending.
[[nodiscard]] std::vector<size_t> other_axes(const std::vector<size_t> &axes, size_t rank);

/// The values (lengths, strides) of these axes, in their order.
[[nodiscard]] std::vector<size_t> pick_axes(
    const std::vector<size_t> &values, const std::vector<size_t> &axes);

}  // namespace holoflow::tasks
