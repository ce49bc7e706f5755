// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of a section, made from its plan.
#include "holoflow/runtime/section_parts.hh"

namespace holoflow::runtime {

SectionParts::SectionParts(
    const GraphPlan &graph, const Section &plan, NodeRuntimes &nodes, Waker &waker,
    RunState &run_state, ExecResources &resources)
    : section(plan), state(run_state),
      device(section.device < 0 ? nullptr : resources.streams.at(section.id).device()),
      steps(make_section_steps(graph, section, resources.tid_to_sid)),
      ring(section, steps, resources),
      order(device == nullptr ? host_device() : *device, section.stream, steps.storages.size()),
      probe(device, section.stream), place(section.name), waits(waker, order, probe, steps),
      lending(device == nullptr ? host_device() : *device, order, waits, place) {
  bind_nodes(nodes);
  auto run = section.runs.begin();
  for (auto &step : steps.nodes)
    if (step.is_run())
      make_recording(step, *run++, resources);
}

void SectionParts::bind_nodes(NodeRuntimes &nodes) {
  for (auto *list : {&steps.consumers, &steps.nodes, &steps.tail, &steps.producers})
    for (auto &step : *list) {
      step.node = &nodes[step.index];
      for (auto &member : step.members) {
        member.node = &nodes[member.index];
        if (!member.node->merged_outputs.empty())
          step.merging.push_back(member.node);
      }
    }
}

void SectionParts::make_recording(Step &run, const RecordedRun &plan, ExecResources &resources) {
  std::vector<std::string> names;
  for (const auto &member : run.members)
    names.push_back(member.node->plan->spec.name);
  RunRecording::Memory memory;
  for (const auto sid : run.moving)
    memory.moving.push_back(resources.storages.at(sid).get());
  for (const auto sid : run.fixed)
    memory.fixed.push_back(resources.storages.at(sid).get());
  auto &executables = resources.recordings[names.front()];
  if (executables == nullptr)
    executables = std::make_shared<RunExecutables>();
  executables->nodes = std::move(names);
  executables->key = plan.key;
  run.recording =
      &recordings.emplace_back(section, plan, *device, std::move(memory), executables, place);
  for (const auto &member : run.members)
    member.node->launches = &run.recording->launches();
}

}  // namespace holoflow::runtime
