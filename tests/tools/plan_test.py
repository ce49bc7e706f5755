#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""holoflow plan: text, JSON, Graphviz and pictures of what the compiler decided, and why."""
import json
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from command import GREY, ROOT, CommandTest

BANDPASS = ROOT / "examples" / "graphs" / "bandpass.json"


class Plan(CommandTest):
    def plan(self, *options, graph=BANDPASS):
        return self.good("plan", graph, "--caps", GREY, *options)

    def test_text_tells_sections_tensors_memory_and_reasons(self):
        text = self.plan()
        for part in ("device: CPU", "section 0: one thread", "section 2: one thread", "pops from to_compute",
                     "runs to_float → band → normalize → to_grey", "pushes to to_compute",
                     "\nstreams\n", "\ntensors\n", "\nstorages\n",
                     "U8 [1, 6, 8] on Host", "F32 [1, 6, 8] on Host", "\nmemory: ", "by aliasing", "\nwhy\n",
                     'node "to_compute" (BatchQueue) is asynchronous', "  alias: ", "  owner: "):
            self.assertIn(part, text)

    def test_a_gpu_is_planned_for_without_one(self):
        text = self.plan("--device", "cuda")
        for part in ("device: GPU", "stream 0 of GPU 0", "U8 [1, 6, 8] on Device", "pinned", "device"):
            self.assertIn(part, text)

    def test_json_agrees_with_itself(self):
        for device in ("cpu", "cuda"):
            plan = json.loads(self.plan("--json", "--device", device))
            self.assertEqual([section["id"] for section in plan["sections"]], [0, 1, 2])
            names = [name for section in plan["sections"] for name in section["runs"]]
            self.assertEqual(len(names), len(set(names)))
            self.assertIn("band", names)
            self.assertEqual([(stream["input"], stream["tensors_per_frame"]) for stream in plan["streams"]],
                             [("in", [1, 1])])
            tensors = {tensor["id"]: tensor for tensor in plan["tensors"]}
            storages = {storage["id"]: storage for storage in plan["storages"]}
            for tensor in tensors.values():
                self.assertIn(tensor["id"], storages[tensor["storage"]]["tensors"])
                self.assertEqual(tensor["mem_loc"], storages[tensor["storage"]]["mem_loc"])
                self.assertLessEqual(tensor["bytes"], storages[tensor["storage"]]["bytes"])
                self.assertTrue(tensor["readers"])
            memory = plan["memory"]
            for kind in ("device", "pinned", "host"):
                self.assertEqual(memory["total"][kind], memory["tensors"][kind] + memory["tasks"][kind])
            self.assertGreater(memory["total"]["device" if device == "cuda" else "host"], 0)
            kinds = {decision["kind"] for decision in plan["decisions"]}
            self.assertIn("section", kinds)
            for decision in plan["decisions"]:
                self.assertTrue(decision["text"])

    def test_every_boundary_has_a_reason(self):
        plan = json.loads(self.plan("--json"))
        reasons = {decision["node"] for decision in plan["decisions"] if decision["kind"] == "section"}
        queues = {name for section in plan["sections"] for name in section["pushes"] + section["pops"]}
        self.assertEqual(queues, {"to_compute", "to_download"})
        self.assertLessEqual(queues, reasons)

    def test_every_example_has_a_plan_in_every_form(self):
        for graph in sorted((ROOT / "examples" / "graphs").glob("*.json")):
            json.loads(self.plan("--json", graph=graph))
            self.assertTrue(self.plan("--dot", graph=graph).startswith("digraph"))
            self.assertIn("why", self.plan(graph=graph))

    def test_graphviz_reads_the_source(self):
        dot = self.plan("--dot")
        for part in ("digraph", "cluster_0", "cluster_2", "band", "Filter2D"):
            self.assertIn(part, dot)
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tplain"], input=dot, text=True, check=True, capture_output=True, timeout=60)

    def test_svg_is_a_picture(self):
        if not shutil.which("dot"):
            self.skipTest("no Graphviz")
        picture = ElementTree.fromstring(self.plan("--svg"))
        self.assertTrue(picture.tag.endswith("svg"))
        text = " ".join(picture.itertext())
        self.assertIn("Filter2D", text)
        odd = json.dumps({"nodes": {"<in> & \"it\" \\": {"type": "Input"}, "o\u00e9": {"type": "Output"}},
                          "edges": [{"from": "<in> & \"it\" \\", "to": "o\u00e9"}]})
        self.assertIn('<in> & "it" \\', " ".join(ElementTree.fromstring(self.plan("--svg", graph=odd)).itertext()))

    def test_without_graphviz_it_says_what_to_install(self):
        lines = self.bad("plan", BANDPASS, "--caps", GREY, "--svg", env={"PATH": "/nonexistent"})
        self.assert_line(lines, "install graphviz", "--dot")

    def test_faults_are_those_of_check(self):
        graph = '{"nodes": {"a": {"type": "Meen"}, "b": {"type": "Filter2D"}}, "edges": ["a ->"]}'
        self.assertEqual(self.bad("plan", graph), self.bad("check", graph))
        self.bad("plan", BANDPASS, "--caps", GREY, "--dot", "--json", status=2)

    def test_a_copy_that_owners_force_is_explained(self):
        graph = '{"nodes": {"i": {"type": "Input"}, "o": {"type": "Output"}}, "edges": ["i -> o"]}'
        plan = json.loads(self.plan("--json", graph=graph))
        self.assertIn("copy", {decision["kind"] for decision in plan["decisions"]})


if __name__ == "__main__":
    unittest.main()
