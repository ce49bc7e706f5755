// SPDX-License-Identifier: LGPL-2.1-or-later
// The one file that compiles pocketfft: it is heavy, and its caches exist once.
//
// pocketfft transforms a line, or several lines side by side in the lanes of vectors. Walking
// through an array is done here: its own walk allocates for each call.
#include "holoflow/tasks/fft/host_transform.hh"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/index.hh"
#include "holoflow/tasks/fft/host_scratch.hh"

// A graph with many sizes must not rebuild tables for each plan; a miss costs more than the search.
#define POCKETFFT_CACHE_SIZE 64
// Sections are the threads of a graph.
#define POCKETFFT_NO_MULTITHREADING
#include <pocketfft_hdronly.h>

namespace holoflow::tasks {

namespace {

namespace pf = pocketfft::detail;

constexpr size_t max_lanes = pf::VLEN<float>::val;

/// A float of each of `lanes` lines.
template <size_t lanes, typename Float = float> struct LanesOf {
  using Type = typename pf::VTYPE<Float>::type;
};
template <typename Float> struct LanesOf<1, Float> { using Type = Float; };
template <size_t lanes> using Lanes = typename LanesOf<lanes>::Type;

template <typename Value> float get_lane(const Value &value, [[maybe_unused]] size_t lane) {
  if constexpr (std::is_same_v<Value, float>)
    return value;
  else
    return value[lane];
}
template <typename Value> void set_lane(Value &value, [[maybe_unused]] size_t lane, float x) {
  if constexpr (std::is_same_v<Value, float>)
    value = x;
  else
    value[lane] = x;
}

/// Elements of lines at a time, as (real or complex) floats.
template <typename Byte, size_t lanes> struct LineView {
  Byte *first[lanes];
  std::ptrdiff_t step;  ///< bytes

  [[nodiscard]] auto *at(size_t lane, size_t i) const {
    using Float = std::conditional_t<std::is_const_v<Byte>, const float, float>;
    return reinterpret_cast<Float *>(first[lane] + static_cast<std::ptrdiff_t>(i) * step);
  }
};
template <size_t lanes> using InLines = LineView<const std::byte, lanes>;
template <size_t lanes> using OutLines = LineView<std::byte, lanes>;

/// The lines of an array along one axis.
struct Lines {
  Lines(const HostTransform &transform, size_t axis)
      : length(transform.shape[axis]), in_step(transform.in_strides[axis]),
        out_step(transform.out_strides[axis]) {
    const std::vector<size_t> others = other_axes({axis}, transform.shape.size());
    const auto pick = [&](const std::vector<std::ptrdiff_t> &strides) {
      return pick_axes({strides.begin(), strides.end()}, others);
    };
    first_elements = make_loop<2>(
        pick_axes(transform.shape, others),
        {pick(transform.in_strides), pick(transform.out_strides)});
  }

  /// Calls visit(in lines, out lines) for all of them, several at a time where there are as many.
  template <typename Visit>
  void for_each(const std::byte *in, std::byte *out, Visit &&visit) const {
    uint64_t line = 0;
    if constexpr (max_lanes > 1)
      for (; line + max_lanes <= first_elements.count; line += max_lanes)
        visit_at<max_lanes>(line, in, out, visit);
    for (; line < first_elements.count; ++line)
      visit_at<1>(line, in, out, visit);
  }

  size_t length;  ///< points

private:
  template <size_t lanes, typename Visit>
  void visit_at(uint64_t line, const std::byte *in, std::byte *out, Visit &visit) const {
    InLines<lanes> from{{}, in_step};
    OutLines<lanes> to{{}, out_step};
    for (size_t lane = 0; lane < lanes; ++lane) {
      uint64_t offsets[2];
      first_elements.offsets(line + lane, offsets);
      from.first[lane] = in + offsets[0];
      to.first[lane] = out + offsets[1];
    }
    visit(from, to);
  }

  StridedLoop<2> first_elements;
  std::ptrdiff_t in_step, out_step;
};

/// One axis of a complex transform.
class ComplexStep {
public:
  ComplexStep(const HostTransform &transform, size_t axis, float scale)
      : lines_(transform, axis), plan_(pf::get_plan<pf::pocketfft_c<float>>(lines_.length)),
        forward_(transform.forward), scale_(scale) {}

  void run(const std::byte *in, std::byte *out) const {
    lines_.for_each(in, out, [this](const auto &from, const auto &to) { transform(from, to); });
  }

  /// Makes the arrays that run() makes.
  void rehearse() const {
    execute<1>();
    if constexpr (max_lanes > 1)
      execute<max_lanes>();
  }

private:
  template <size_t lanes> using Element = pf::cmplx<Lanes<lanes>>;

  template <size_t lanes> void execute() const {
    pf::arr<Element<lanes>> line(lines_.length);
    std::fill_n(line.data(), lines_.length, Element<lanes>(Lanes<lanes>{}, Lanes<lanes>{}));
    plan_->exec(line.data(), scale_, forward_);
  }

  template <size_t lanes>
  void transform(const InLines<lanes> &from, const OutLines<lanes> &to) const {
    // A lone line is transformed where it shall be, if its elements lie side by side there.
    if constexpr (lanes == 1)
      if (to.step == static_cast<std::ptrdiff_t>(sizeof(std::complex<float>))) {
        auto *line = reinterpret_cast<Element<lanes> *>(to.first[0]);
        if (to.first[0] != from.first[0])
          gather<lanes>(from, line);
        return plan_->exec(line, scale_, forward_);
      }
    pf::arr<Element<lanes>> line(lines_.length);
    gather<lanes>(from, line.data());
    plan_->exec(line.data(), scale_, forward_);
    for (size_t i = 0; i < lines_.length; ++i)
      for (size_t lane = 0; lane < lanes; ++lane) {
        float *element = to.at(lane, i);
        element[0] = get_lane(line[i].r, lane);
        element[1] = get_lane(line[i].i, lane);
      }
  }

  template <size_t lanes> void gather(const InLines<lanes> &from, Element<lanes> *line) const {
    for (size_t i = 0; i < lines_.length; ++i)
      for (size_t lane = 0; lane < lanes; ++lane) {
        const float *element = from.at(lane, i);
        set_lane(line[i].r, lane, element[0]);
        set_lane(line[i].i, lane, element[1]);
      }
  }

  Lines lines_;
  std::shared_ptr<pf::pocketfft_c<float>> plan_;
  bool forward_;
  float scale_;
};

/// The axis along which one side is real. pocketfft's order of half a spectrum is r₀, r₁, i₁, r₂,
/// i₂, …, and of an even length the real last one.
class RealStep {
public:
  RealStep(const HostTransform &transform, size_t axis)
      : lines_(transform, axis), plan_(pf::get_plan<pf::pocketfft_r<float>>(lines_.length)),
        to_half_(transform.kind != HostTransform::Kind::HalfToReal),
        sign_(transform.forward == to_half_ ? 1.0F : -1.0F), scale_(transform.scale) {}

  void run(const std::byte *in, std::byte *out) const {
    if (to_half_)
      lines_.for_each(in, out, [this](const auto &from, const auto &to) { to_half(from, to); });
    else
      lines_.for_each(in, out, [this](const auto &from, const auto &to) { to_real(from, to); });
  }

  /// Makes the arrays that run() makes.
  void rehearse() const {
    execute<1>();
    if constexpr (max_lanes > 1)
      execute<max_lanes>();
  }

private:
  template <size_t lanes> void execute() const {
    pf::arr<Lanes<lanes>> line(lines_.length);
    std::fill_n(line.data(), lines_.length, Lanes<lanes>{});
    plan_->exec(line.data(), scale_, to_half_);
  }

  template <size_t lanes>
  void to_half(const InLines<lanes> &from, const OutLines<lanes> &to) const {
    const size_t length = lines_.length;
    pf::arr<Lanes<lanes>> line(length);
    for (size_t i = 0; i < length; ++i)
      for (size_t lane = 0; lane < lanes; ++lane)
        set_lane(line[i], lane, *from.at(lane, i));
    plan_->exec(line.data(), scale_, true);
    for (size_t k = 0; k <= length / 2; ++k)
      for (size_t lane = 0; lane < lanes; ++lane) {
        float *element = to.at(lane, k);
        const bool is_real = k == 0 || 2 * k == length;
        element[0] = get_lane(line[k == 0 ? 0 : 2 * k - 1], lane);
        element[1] = is_real ? 0.0F : sign_ * get_lane(line[2 * k], lane);
      }
  }

  template <size_t lanes>
  void to_real(const InLines<lanes> &from, const OutLines<lanes> &to) const {
    const size_t length = lines_.length;
    pf::arr<Lanes<lanes>> line(length);
    for (size_t k = 0; k <= length / 2; ++k)
      for (size_t lane = 0; lane < lanes; ++lane) {
        const float *element = from.at(lane, k);
        set_lane(line[k == 0 ? 0 : 2 * k - 1], lane, element[0]);
        if (k != 0 && 2 * k != length)
          set_lane(line[2 * k], lane, sign_ * element[1]);
      }
    plan_->exec(line.data(), scale_, false);
    for (size_t i = 0; i < length; ++i)
      for (size_t lane = 0; lane < lanes; ++lane)
        *to.at(lane, i) = get_lane(line[i], lane);
  }

  Lines lines_;
  std::shared_ptr<pf::pocketfft_r<float>> plan_;
  bool to_half_;
  float sign_;  // of imaginary parts
  float scale_;
};

/// Fills what a half spectrum leaves out: X[−k] = conj(X[k]), where −k negates the index along
/// every transformed axis.
class Mirror {
public:
  explicit Mirror(const HostTransform &transform)
      : shape_(transform.shape), strides_(transform.out_strides), half_axis_(transform.axes.back()),
        negated_(shape_.size(), false), index_(shape_.size(), 0) {
    for (const size_t axis : transform.axes)
      negated_[axis] = true;
  }

  void run(std::byte *out) {
    const size_t length = shape_[half_axis_];
    const std::ptrdiff_t step = strides_[half_axis_];
    std::fill(index_.begin(), index_.end(), 0);
    do {
      std::ptrdiff_t to = 0;
      std::ptrdiff_t from = 0;
      for (size_t axis = 0; axis < shape_.size(); ++axis) {
        if (axis == half_axis_)
          continue;
        const size_t n = shape_[axis];
        const size_t source = negated_[axis] ? (n - index_[axis]) % n : index_[axis];
        to += static_cast<std::ptrdiff_t>(index_[axis]) * strides_[axis];
        from += static_cast<std::ptrdiff_t>(source) * strides_[axis];
      }
      for (size_t k = length / 2 + 1; k < length; ++k)
        *at(out, to + static_cast<std::ptrdiff_t>(k) * step) =
            std::conj(*at(out, from + static_cast<std::ptrdiff_t>(length - k) * step));
    } while (advance());
  }

private:
  static std::complex<float> *at(std::byte *base, std::ptrdiff_t bytes) {
    return reinterpret_cast<std::complex<float> *>(base + bytes);
  }

  /// The next index over all axes but the halved one; false once every one has been visited.
  bool advance() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      if (axis == half_axis_)
        continue;
      if (++index_[axis] < shape_[axis])
        return true;
      index_[axis] = 0;
    }
    return false;
  }

  std::vector<size_t> shape_;
  std::vector<std::ptrdiff_t> strides_;
  size_t half_axis_;
  std::vector<bool> negated_;
  std::vector<size_t> index_;
};

}  // namespace

class HostTransformPlan::Steps {
public:
  explicit Steps(const HostTransform &transform) {
    for (const size_t extent : transform.shape)
      if (extent == 0)
        return;
    plan(transform);
    {
      const HostScratchScope scope(scratch_);
      for (const RealStep &step : real_)
        step.rehearse();
      for (const ComplexStep &step : complex_)
        step.rehearse();
    }
    scratch_.reserve_what_was_used();
  }

  void run(const std::byte *in, std::byte *out) {
    const HostScratchScope scope(scratch_);
    for (const RealStep &step : real_)
      step.run(std::exchange(in, out), out);
    for (const ComplexStep &step : complex_)
      step.run(std::exchange(in, out), out);
    for (Mirror &mirror : mirror_)
      mirror.run(out);
  }

private:
  /// The halved axis first, the others in the result; the scale is applied once.
  void plan(const HostTransform &transform) {
    if (transform.kind == HostTransform::Kind::Complex)
      return plan_complex(transform, transform.axes);
    real_.emplace_back(transform, transform.axes.back());
    if (transform.kind == HostTransform::Kind::RealToFull)
      mirror_.emplace_back(transform);
    HostTransform rest = transform;
    rest.axes.pop_back();
    rest.shape[transform.axes.back()] = transform.shape[transform.axes.back()] / 2 + 1;
    rest.in_strides = transform.out_strides;
    rest.scale = 1;
    plan_complex(rest, rest.axes);
  }

  void plan_complex(HostTransform transform, const std::vector<size_t> &axes) {
    for (const size_t axis : axes) {
      complex_.emplace_back(transform, axis, transform.scale);
      transform.in_strides = transform.out_strides;
      transform.scale = 1;
    }
  }

  // In this order; the first step reads the input, the others the output.
  std::vector<RealStep> real_;  // none or one
  std::vector<ComplexStep> complex_;
  std::vector<Mirror> mirror_;  // none or one
  HostScratch scratch_;
};

HostTransformPlan::HostTransformPlan() = default;
HostTransformPlan::HostTransformPlan(const HostTransform &transform)
    : steps_(std::make_unique<Steps>(transform)) {}
HostTransformPlan::HostTransformPlan(HostTransformPlan &&) noexcept = default;
HostTransformPlan &HostTransformPlan::operator=(HostTransformPlan &&) noexcept = default;
HostTransformPlan::~HostTransformPlan() = default;

void HostTransformPlan::run(const void *in, void *out) {
  steps_->run(static_cast<const std::byte *>(in), static_cast<std::byte *>(out));
}

}  // namespace holoflow::tasks
