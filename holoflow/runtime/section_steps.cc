// SPDX-License-Identifier: LGPL-2.1-or-later
// What each step of a section touches, from the plan alone.
#include "holoflow/runtime/section_steps.hh"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace holoflow::runtime {

namespace {

bool is_set(const std::vector<bool> &mask, size_t index) {
  return index < mask.size() && mask[index];
}

bool contains(const std::vector<int> &list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool on_device(const core::TDesc &desc) {
  return desc.mem_loc == core::MemLoc::Device;
}

bool touches_device(const core::InferResult &infer) {
  return std::any_of(infer.input_descs.begin(), infer.input_descs.end(), on_device) ||
      std::any_of(infer.output_descs.begin(), infer.output_descs.end(), on_device);
}

enum class Side { Executed, Popped, Pushed };

class StepMaker {
public:
  StepMaker(const GraphPlan &graph, const Section &section, const std::vector<int> &tid_to_sid)
      : graph_(graph), section_(section), tid_to_sid_(tid_to_sid) {}

  SectionSteps make() {
    for (const auto index : section_.async_cons)
      steps_.consumers.push_back(make_step(index, Side::Popped));
    for (const auto index : section_.sync_topo) {
      const bool in_tail =
          std::find(section_.tail.begin(), section_.tail.end(), index) != section_.tail.end();
      auto &list = in_tail ? steps_.tail : steps_.nodes;
      list.push_back(make_step(index, Side::Executed));
      list.back().in_tail = in_tail;
      steps_.has_sink = steps_.has_sink || node(index).out_tids.empty();
    }
    for (const auto index : section_.async_prod) {
      steps_.producers.push_back(make_step(index, Side::Pushed));
      const auto &infer = node(index).infer;
      steps_.waits_before_push = steps_.waits_before_push ||
          (!infer.synchronizes_producer_stream && !infer.hands_over_by_event);
    }
    join_runs();
    keep_what_comes_again();
    for (const auto &lagged : section_.lagged)
      steps_.lagged.push_back(number_of(lagged.sid));
    collect_tail_storages();
    return std::move(steps_);
  }

private:
  const NodePlan &node(size_t index) const { return graph_.nodes[index]; }
  int sid_of(int tid) const { return tid_to_sid_.at(static_cast<size_t>(tid)); }

  size_t number_of(int sid) {
    const auto [known, added] = numbers_.emplace(sid, steps_.storages.size());
    if (added)
      steps_.storages.push_back(sid);
    return known->second;
  }

  /// Whether an output is a view that its node never writes through.
  bool is_view(const NodePlan &plan, size_t out) const {
    const auto &aliases = plan.infer.in_place;
    return std::any_of(aliases.begin(), aliases.end(), [&](const core::InPlace &alias) {
      return static_cast<size_t>(alias.out_idx) == out && !alias.writes &&
          sid_of(plan.in_tids[static_cast<size_t>(alias.in_idx)]) == sid_of(plan.out_tids[out]);
    });
  }

  // The stream orders storages on the device; only those that go back to a task which knows no
  // events are waited for.
  Step make_step(size_t index, Side side) {
    const auto &plan = node(index);
    Step step;
    step.index = index;
    const bool executed = side == Side::Executed;
    step.may_wait = executed && (plan.in_tids.empty() || plan.out_tids.empty());
    if (section_.device < 0)
      return step;
    // An asynchronous task that orders device work itself touches owned slots by stream only.
    step.enqueues = touches_device(plan.infer);
    if (side != Side::Popped)
      add_inputs(step, plan, executed);
    if (side != Side::Pushed)
      add_outputs(step, plan, executed);
    return step;
  }

  void add_inputs(Step &step, const NodePlan &plan, bool executed) {
    for (size_t in = 0; in < plan.in_tids.size(); ++in) {
      const auto number = number_of(sid_of(plan.in_tids[in]));
      const bool owned = is_set(plan.infer.owned_inputs, in);
      const bool ordered_by_task = !executed && owned && plan.infer.hands_over_by_event;
      if (executed && step.enqueues)
        step.stream.reads.push_back(number);
      else if (!on_device(plan.infer.input_descs[in]) && !ordered_by_task)
        // Who owns its input takes the memory away: no one may still read it either.
        (owned ? step.host.writes : step.host.reads).push_back(number);
      if (owned) {
        step.renewed.push_back(number);
        owned_.insert(sid_of(plan.in_tids[in]));
      }
    }
  }

  void add_outputs(Step &step, const NodePlan &plan, bool executed) {
    for (size_t out = 0; out < plan.out_tids.size(); ++out) {
      const auto number = number_of(sid_of(plan.out_tids[out]));
      const bool owned = is_set(plan.infer.owned_outputs, out);
      if (owned) {
        step.renewed.push_back(number);
        step.released.writes.push_back(number);
        owned_.insert(sid_of(plan.out_tids[out]));
      }
      if (is_view(plan, out))
        continue;
      if (step.enqueues && (executed || !plan.infer.hands_over_by_event))
        step.stream.writes.push_back(number);
      else if (!on_device(plan.infer.output_descs[out]) && !owned)
        step.host.writes.push_back(number);
    }
  }

  // One step stands for the nodes of a run: its work is enqueued in one go.
  void join_runs() {
    std::vector<Step> joined;
    auto run = section_.runs.begin();
    for (size_t position = 0; position < steps_.nodes.size();) {
      if (run == section_.runs.end() || run->first != position) {
        joined.push_back(std::move(steps_.nodes[position++]));
        continue;
      }
      joined.push_back(join(position, run->count));
      position += run->count;
      ++run;
    }
    steps_.nodes = std::move(joined);
  }

  Step join(size_t first, size_t count) {
    Step step;
    step.index = steps_.nodes[first].index;
    step.enqueues = true;
    std::vector<int> storages;
    for (size_t i = first; i < first + count; ++i) {
      auto &member = steps_.nodes[i];
      append(step.stream.reads, member.stream.reads);
      append(step.stream.writes, member.stream.writes);
      for (const auto *tids : {&node(member.index).in_tids, &node(member.index).out_tids})
        for (const auto tid : *tids)
          add_storage(step, sid_of(tid));
      step.members.push_back(std::move(member));
    }
    return step;
  }

  void add_storage(Step &run, int sid) const {
    auto &list = moves(sid) ? run.moving : run.fixed;
    if (!contains(list, sid))
      list.push_back(sid);
  }

  static void append(std::vector<size_t> &to, const std::vector<size_t> &from) {
    for (const auto item : from)
      if (std::find(to.begin(), to.end(), item) == to.end())
        to.push_back(item);
  }

  /// Whether a storage has other memory in each iteration: a task owns it, or it lags.
  bool moves(int sid) const {
    const auto is_lagged = [&](const LaggedStorage &lagged) { return lagged.sid == sid; };
    return owned_.contains(sid) ||
        std::any_of(section_.lagged.begin(), section_.lagged.end(), is_lagged);
  }

  // A slot that this section's stream reads may come again before it has been read.
  void keep_what_comes_again() {
    const auto is_read = [&](size_t storage) {
      return std::any_of(steps_.nodes.begin(), steps_.nodes.end(), [&](const Step &step) {
        const auto &reads = step.stream.reads;
        return std::find(reads.begin(), reads.end(), storage) != reads.end();
      });
    };
    for (auto &producer : steps_.producers)
      std::erase_if(producer.renewed, is_read);
  }

  void collect_tail_storages() {
    const auto add = [&](int sid) {
      if (!contains(steps_.tail_storages, sid))
        steps_.tail_storages.push_back(sid);
    };
    for (const auto &step : steps_.tail)
      for (const auto *tids : {&node(step.index).in_tids, &node(step.index).out_tids})
        for (const auto tid : *tids)
          add(sid_of(tid));
    const auto touched = steps_.tail_storages;
    for (auto *list : {&steps_.consumers, &steps_.nodes, &steps_.tail})
      for (auto &step : *list) {  // the members of a run own nothing
        const auto owned = owned_outputs(step);
        step.released_by_tail = std::any_of(
            owned.begin(), owned.end(), [&](int sid) { return contains(touched, sid); });
        // A release concerns every slot of its node.
        if (step.released_by_tail)
          std::for_each(owned.begin(), owned.end(), add);
      }
  }

  std::vector<int> owned_outputs(const Step &step) const {
    std::vector<int> sids;
    const auto &plan = node(step.index);
    for (size_t out = 0; out < plan.out_tids.size(); ++out)
      if (is_set(plan.infer.owned_outputs, out))
        sids.push_back(sid_of(plan.out_tids[out]));
    return sids;
  }

  const GraphPlan &graph_;
  const Section &section_;
  const std::vector<int> &tid_to_sid_;
  std::map<int, size_t> numbers_;  // by storage id
  std::set<int> owned_;  // storage ids whose memory a task of this section owns
  SectionSteps steps_;
};

}  // namespace

SectionSteps make_section_steps(
    const GraphPlan &graph, const Section &section, const std::vector<int> &tid_to_sid) {
  return StepMaker(graph, section, tid_to_sid).make();
}

}  // namespace holoflow::runtime
