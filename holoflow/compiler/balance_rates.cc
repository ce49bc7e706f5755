// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 9: rates and depths of queues where paths meet.
//
// A section S runs r(S) iterations per unit of time. A queue from A to D that takes n frames per
// push and advances by `stride` frames per pop asks for r(D) = r(A) · n / stride: one balance
// equation per queue, as in synchronous dataflow (Lee and Messerschmitt, 1987).
//
// Let iteration k of S happen at T(S) + k / r(S). A queue with a delay of l frames gives its k-th
// window (from 0) once l + k·stride + size frames have come, that is after push
// ⌊(l + k·stride + size − 1) / n⌋ ≤ (k·stride + d) / n with d = ⌊(l + size − 1)/g⌋·g,
// g = gcd(n, stride), so T(D) ≥ T(A) + d / (n·r(A)) makes every pop find its window. The longest
// path gives the least T. Until then D has freed nothing, so the queue has been given at most
// n + n·r(A)·(T(D) − T(A)) frames; l of them, as far as they have come, take none of its room, so
// it holds at most n or l fewer than that, whichever is more. Later D frees as fast as A brings.
// With that much room in every queue this schedule never waits for room; and as sections wait for
// each other only through their queues, then no other order of events can hang either.
//
//   in ─► q1 (size 32, stride 1) ─► Mean ─► Subtract        T = 31 iterations of `in`
//    └──► q2 (size 1)  ────────────────────► ┘              q2 needs 1 + 31 = 32 frames
//
//   in ─► SlidingAverage (size 4, delay 3) ─► Subtract      T = 6 iterations of `in`
//    └──► q2 (size 1)  ────────────────────► ┘              q2 needs 1 + 6 = 7 frames
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "holoflow/compiler/partition.hh"
#include "holoflow/compiler/saturating.hh"
#include "holoflow/core/graph_fault.hh"

namespace holoflow::compiler {

namespace {

using runtime::Decision;

/// More than any memory holds: a deeper queue is refused instead of tried.
constexpr long double most_frames = 4'000'000'000.0L;

/// A positive fraction in lowest terms.
struct Rate {
  uint64_t num = 1, den = 1;

  bool operator==(const Rate &) const = default;
  [[nodiscard]] long double value() const {
    return static_cast<long double>(num) / static_cast<long double>(den);
  }
  [[nodiscard]] std::string text() const {
    return den == 1 ? std::to_string(num) : std::to_string(num) + "/" + std::to_string(den);
  }
};

/// rate · num / den, or nothing where it does not fit.
std::optional<Rate> scaled(const Rate &rate, uint64_t num, uint64_t den) {
  const auto a = std::gcd(rate.num, den), b = std::gcd(num, rate.den);
  const auto c = std::gcd(num / b, den / a);
  Rate result;
  if (__builtin_mul_overflow(rate.num / a, num / b / c, &result.num) ||
      __builtin_mul_overflow(rate.den / b, den / a / c, &result.den))
    return std::nullopt;
  const auto common = std::gcd(result.num, result.den);
  return Rate{result.num / common, result.den / common};
}

/// An asynchronous node between two sections.
struct Link {
  size_t node = 0;
  size_t from = 0, to = 0;
  std::optional<core::Window> window = {};
};

class Balancer {
public:
  explicit Balancer(Plan &plan)
      : plan_(plan), into_(plan.sections.size()), out_of_(plan.sections.size()),
        rate_(plan.sections.size()), via_(plan.sections.size(), -1),
        root_(plan.sections.size(), -1) {
    for (size_t node = 0; node < plan.node_count(); ++node) {
      const auto from = plan.producer_section[node], to = plan.consumer_section[node];
      if (from < 0 || to < 0)
        continue;
      const Link link{
          node, static_cast<size_t>(from), static_cast<size_t>(to),
          plan.graph.nodes[node].infer.window};
      if (!link.window) {
        foreign_.push_back(link);
        continue;
      }
      into_[link.to].push_back(links_.size());
      out_of_[link.from].push_back(links_.size());
      links_.push_back(link);
    }
  }

  void balance() {
    for (size_t section = 0; section < rate_.size(); ++section)
      if (root_[section] < 0)
        spread_rates(section);
    judge_other_links();
    if (!plan_.faults.empty())
      return;
    find_start_times();
    for (const auto &link : links_)
      deepen(link);
  }

private:
  std::string name(size_t node) const { return core::quote(plan_.graph.nodes[node].spec.name); }
  std::string first_node(size_t section) const {
    return name(plan_.sections[section].sync_topo.front());
  }

  /// Gives every section connected to `root` its rate and compares where it is reached again.
  void spread_rates(size_t root) {
    std::vector<size_t> reached{root};
    root_[root] = static_cast<int>(root);
    for (size_t next = 0; next < reached.size(); ++next) {
      const auto section = reached[next];
      const auto follow = [&](size_t index, size_t other, uint64_t num, uint64_t den) {
        const auto rate = scaled(rate_[section], num, den);
        if (!rate) {
          add_fault(
              plan_, {.pass = partition_pass, .node = static_cast<int>(links_[index].node)},
              core::Reason::Rates,
              "the frame rate behind it is too far from the rate of " + first_node(root) +
                  " to be computed; use smaller batches and strides");
        } else if (root_[other] < 0) {
          root_[other] = static_cast<int>(root);
          rate_[other] = *rate;
          via_[other] = static_cast<int>(index);
          reached.push_back(other);
        } else if (rate_[other] != *rate) {
          refuse(index);
        }
      };
      for (const auto index : out_of_[section])
        follow(
            index, links_[index].to, links_[index].window->frames_in, links_[index].window->stride);
      for (const auto index : into_[section])
        if (static_cast<int>(index) != via_[section])
          follow(
              index, links_[index].from, links_[index].window->stride,
              links_[index].window->frames_in);
    }
  }

  void refuse(size_t index) {
    if (!refused_.insert(index).second)
      return;
    const auto &link = links_[index];
    const auto given = scaled(rate_[link.from], link.window->frames_in, link.window->stride);
    std::string other;
    if (const auto via = via_[link.to]; via >= 0)
      other = " through " + name(links_[static_cast<size_t>(via)].node);
    add_fault(
        plan_, {.pass = partition_pass, .node = static_cast<int>(link.node)}, core::Reason::Rates,
        "frame rates disagree where paths meet: for each iteration of " +
            first_node(static_cast<size_t>(root_[link.to])) + " it gives " +
            (given ? given->text() : std::string("too many")) + " windows to " +
            first_node(link.to) + ", the other path" + other + " gives " + rate_[link.to].text() +
            "; choose \"output_stride\" so that both agree");
  }

  /// On paths that meet others: queues that drop frames are refused, because the paths would no
  /// longer show the same frames; tasks whose window is unknown give a warning.
  void judge_other_links() {
    std::vector<size_t> parent(rate_.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto find = [&](size_t section) {
      while (parent[section] != section)
        section = parent[section] = parent[parent[section]];
      return section;
    };
    /// False where the two sides were connected before.
    const auto join = [&](const Link &link) {
      const auto from = find(link.from), to = find(link.to);
      parent[from] = to;
      return from != to;
    };
    for (const auto &link : links_)
      if (!link.window->drops)
        join(link);
    for (const auto &link : foreign_)
      if (!join(link))
        add_decision(
            plan_, Decision::Kind::Warning, static_cast<int>(link.node),
            "node " + quoted(plan_.graph.nodes[link.node].spec) +
                " does not say how many frames it takes and gives (\"window\"), so it could not be "
                "checked that the paths that meet behind it have one rate and room enough");
    for (const auto &link : links_)
      if (link.window->drops && !join(link))
        add_fault(
            plan_, {.pass = partition_pass, .node = static_cast<int>(link.node)},
            core::Reason::Rates,
            "it drops frames when it is full, but other paths that meet its own keep them, so " +
                first_node(link.to) +
                " would get frames that do not belong together; use \"policy\": \"block\" here, or "
                "drop frames before the paths part");
  }

  /// d / (n·r(A)): how much later than its producer a consumer can start.
  long double delay(const Link &link) const {
    const auto &window = *link.window;
    const auto step = std::gcd(window.frames_in, window.stride);
    const auto before = saturating_sum(window.size - 1, window.delay);
    return static_cast<long double>(before / step * step) / frame_rate(link);
  }
  /// Frames per unit of time through the queue.
  long double frame_rate(const Link &link) const {
    return static_cast<long double>(link.window->frames_in) * rate_[link.from].value();
  }

  void find_start_times() {
    const auto count = rate_.size();
    start_.assign(count, 0.0L);
    std::vector<size_t> waiting_for(count), order;
    for (size_t section = 0; section < count; ++section) {
      waiting_for[section] = into_[section].size();
      if (into_[section].empty())
        order.push_back(section);
    }
    for (size_t next = 0; next < order.size(); ++next)
      for (const auto index : out_of_[order[next]]) {
        const auto &link = links_[index];
        start_[link.to] = std::max(start_[link.to], start_[link.from] + delay(link));
        if (--waiting_for[link.to] == 0)
          order.push_back(link.to);
      }
    // A source on a short path need not run ahead.
    for (size_t section = 0; section < count; ++section) {
      if (!into_[section].empty() || out_of_[section].empty())
        continue;
      long double latest = std::numeric_limits<long double>::max();
      for (const auto index : out_of_[section])
        latest = std::min(latest, start_[links_[index].to] - delay(links_[index]));
      start_[section] = std::max(start_[section], latest);
    }
  }

  void deepen(const Link &link) {
    const auto &window = *link.window;
    const auto ahead = frame_rate(link) * (start_[link.to] - start_[link.from]);
    // Room for its own window the queue has by itself.
    const auto slack = ahead - delay(link) * frame_rate(link);
    if (slack <= 1e-9L * std::max(1.0L, ahead))
      return;
    const auto push = static_cast<long double>(window.frames_in);
    const auto given = push + rounded_up(ahead);
    const auto frames = std::max(push, given - static_cast<long double>(window.delay));
    if (frames <= static_cast<long double>(window.capacity))
      return;
    auto &node = plan_.graph.nodes[link.node];
    const Place place{.pass = partition_pass, .node = static_cast<int>(link.node)};
    if (frames > most_frames) {
      add_fault(
          plan_, place, core::Reason::Rates,
          "it would have to hold more than 4000000000 frames while another path to " +
              first_node(link.to) + " fills its windows; use smaller windows there");
      return;
    }
    node.min_slots = static_cast<size_t>(frames);
    const auto asked = window.capacity;
    add_decision(
        plan_, Decision::Kind::Slots, static_cast<int>(link.node),
        "node " + quoted(node.spec) + " holds at least " + std::to_string(node.min_slots) +
            " frames instead of " + std::to_string(asked) + ": another path to " +
            first_node(link.to) + " gives its first window that much later");
    infer_again(link.node);
  }

  /// Lets the factory say what the deeper queue takes.
  void infer_again(size_t index) {
    auto &node = plan_.graph.nodes[index];
    const auto &factory = plan_.registry->get(node.spec.kind);
    const auto *contextual = dynamic_cast<const tasks::IContextualFactory *>(&factory);
    if (contextual == nullptr) {
      add_decision(
          plan_, Decision::Kind::Warning, static_cast<int>(index),
          "node " + quoted(node.spec) + " is not of this library: whether it holds " +
              std::to_string(node.min_slots) + " frames is its own to keep");
      return;
    }
    auto context = plan_.context(index);
    context.min_slots = node.min_slots;
    try {
      auto deeper = contextual->infer_in(context, node.infer.input_descs, node.spec.settings);
      node.infer.own_memory = std::move(deeper.own_memory);
      node.infer.window = deeper.window;
    } catch (const std::exception &error) {
      add_fault(
          plan_, {.pass = partition_pass, .node = static_cast<int>(index)}, core::Reason::Rates,
          "it needs room for " + std::to_string(node.min_slots) +
              " frames because paths meet: " + error.what());
    }
  }

  /// Tolerates what rounding added to a whole number.
  static long double rounded_up(long double frames) {
    const auto nearest = std::round(frames);
    if (std::abs(frames - nearest) <= 1e-9L * std::max(1.0L, nearest))
      return nearest < 1e6L ? nearest : nearest + 1;
    return std::ceil(frames);
  }

  Plan &plan_;
  std::vector<Link> links_, foreign_;
  std::vector<std::vector<size_t>> into_, out_of_;  // by section, indices into links_
  std::vector<Rate> rate_;  // by section
  std::vector<int> via_;  // by section: the link that gave it its rate, -1 for roots
  std::vector<int> root_;  // by section: whose iterations its rate counts, -1 until reached
  std::vector<long double> start_;  // by section, in iterations of its root
  std::set<size_t> refused_;
};

}  // namespace

void balance_rates(Plan &plan) {
  Balancer(plan).balance();
}

}  // namespace holoflow::compiler
