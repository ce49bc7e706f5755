#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""holoflow tasks: the list, one type, the schema and the page, and that both lie in docs/ as they are."""
import copy
import json
import re
import unittest

from command import ROOT, CommandTest, needed

jsonschema = needed("jsonschema")

GOOD = {"nodes": {"in": {"type": "Input", "params": {"as": "GRAY"}}, "a b": {"type": "Copy", "params": None},
                  "f": {"type": "Filter2D", "params": {"r_outer": 4.5}},
                  "s": {"type": "Slice", "params": {"slices": [0, {"start": 1, "stop": None}, {}]}},
                  "g": {"type": "Graph", "params": {"graph": "sub"}}},
        "edges": ["in -> f", "f:0->s:0", "s : 0 -> g", {"from": "g", "to": "a b", "out": 0, "in": 0}],
        "graphs": {"sub": {"nodes": {"c": {"type": "Copy"}}, "edges": [], "inputs": ["c:0"], "outputs": ["c"]}},
        "debug": False, "description": "all forms", "$schema": "graph.schema.json"}


def changed(path, value):
    """GOOD with one value replaced, or removed where `value` is GOOD itself."""
    graph = copy.deepcopy(GOOD)
    place = graph
    for key in path[:-1]:
        place = place[key]
    if value is GOOD:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return graph


WRONG = [
    [], {}, {"nodes": []}, {"nodes": {}, "edgse": []}, {"nodes": {}, "edges": {}},
    changed(["nodes", "in", "type"], "Inptu"), changed(["nodes", "in", "type"], GOOD),
    changed(["nodes", "in", "parms"], {}), changed(["nodes", "in", "params", "as"], "GREY"),
    changed(["nodes", "in", "params", "at"], 1), changed(["nodes", "in", "params", "batch"], 0),
    changed(["nodes", "in", "params", "batch"], 1.5), changed(["nodes", "f", "params"], GOOD),
    changed(["nodes", "f", "params"], None), changed(["nodes", "f", "params", "r_outer"], "4"),
    changed(["nodes", "f", "params", "r_outer"], -1), changed(["nodes", "s", "params", "slices"], [{"begin": 1}]),
    changed(["nodes", "s", "params", "slices"], [{"step": 0}]), changed(["nodes", "g", "params"], {}),
    changed(["nodes", "a/b"], {"type": "Copy"}), changed(["edges"], ["in > f"]), changed(["edges"], ["a->b->c"]),
    changed(["edges"], ["a:x->b"]), changed(["edges"], ["a b->c"]), changed(["edges"], [{"from": "in"}]),
    changed(["edges"], [{"from": "in", "to": "f", "out": -1}]), changed(["graphs", "sub", "inputs"], [1]),
    changed(["graphs", "sub", "nodes", "c", "type"], "Cpy"), changed(["graphs", "sub", "graphs"], {}),
    changed(["nodes", "m"], {"type": "Mean", "params": {"keepdims": 1}}), changed(["debug"], "yes"),
    changed(["description"], 1),
]


class Tasks(CommandTest):
    def test_lists_every_type_with_one_line(self):
        lines = self.good("tasks").splitlines()
        names = [line.split()[0] for line in lines]
        self.assertEqual(names, sorted(names))
        for name in ("Input", "Output", "BatchQueue", "Filter2D", "Conversion"):
            self.assertIn(name, names)
        for line in lines:
            self.assertGreater(len(line.split(None, 1)), 1, line)

    def test_shows_one_type(self):
        text = self.good("tasks", "Filter2D")
        for part in ("Filter2D: ", "input 0", "output 0", "F32 or CF32", "param r_outer: number ≥ 0; required",
                     "default 0"):
            self.assertIn(part, text)
        self.assertEqual(text, self.good("tasks", "filter2d"))
        self.assertIn('"block", "drop-oldest" or "drop-newest"', self.good("tasks", "BatchQueue"))
        self.assertIn("no params", self.good("tasks", "Copy"))
        self.assertIn("true or false", self.good("tasks", "Mean"))
        self.assertIn("name of the sub-graph", self.good("tasks", "Graph"))

    def test_an_unknown_type_gets_the_nearest_name(self):
        self.assertEqual(self.bad("tasks", "Filter3D"), ['tasks: unknown type "Filter3D"; did you mean "Filter2D"?'])
        self.assert_line(self.bad("tasks", "qqqqqqqq"), '"holoflow tasks" lists')

    def test_forms_exclude_each_other(self):
        for arguments in (("--schema", "--markdown"), ("Copy", "--schema"), ("Copy", "--markdown")):
            self.bad("tasks", *arguments, status=2)


class Generated(CommandTest):
    def assert_fresh(self, option, name):
        path = ROOT / "docs" / name
        made = self.good("tasks", option)
        there = path.read_text() if path.exists() else ""
        self.assertEqual(there, made,
                         f"docs/{name} is stale; write it anew: holoflow tasks {option} > docs/{name}")

    def test_the_page_is_fresh(self):
        self.assert_fresh("--markdown", "tasks.md")

    def test_the_schema_is_fresh(self):
        self.assert_fresh("--schema", "graph.schema.json")

    def test_the_page_has_every_type_and_its_links_lead_somewhere(self):
        page = self.good("tasks", "--markdown")
        for line in self.good("tasks").splitlines():
            self.assertIn(f"\n## {line.split()[0]}\n", page)
        titles = {title.lower() for title in re.findall(r"^## (.*)$", page, re.MULTILINE)}
        self.assertEqual({link for link in re.findall(r"\(#(.*?)\)", page)}, titles)


class Schema(CommandTest):
    def setUp(self):
        super().setUp()
        schema = json.loads(self.good("tasks", "--schema"))
        jsonschema.Draft202012Validator.check_schema(schema)
        self.validator = jsonschema.Draft202012Validator(schema)

    def test_takes_every_example(self):
        examples = sorted((ROOT / "examples" / "graphs").glob("*.json"))
        self.assertGreater(len(examples), 3)
        for path in examples:
            lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")]
            self.validator.validate(json.loads("\n".join(lines)))

    def test_takes_every_form(self):
        self.validator.validate(GOOD)

    def test_refuses_wrong_graphs(self):
        for graph in WRONG:
            self.assertFalse(self.validator.is_valid(graph), graph)

    def test_agrees_with_the_reader(self):
        # What the schema refuses, `check` refuses too, so that nobody is told two things.
        for graph in WRONG:
            lines = self.bad("check", json.dumps(graph) if isinstance(graph, dict) else "[]",
                             "--caps", "video/x-raw,format=GRAY8,width=8,height=6")
            self.assertTrue(lines)


if __name__ == "__main__":
    unittest.main()
