#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""holoflow run --trace and --metrics, and what bench says of sections."""
import json
import os
import signal
import subprocess
import unittest

from command import TOOL, CommandTest

CAPS = "video/x-raw,format=GRAY8,width=7,height=5"
QUEUED = "copy ! batchqueue ! copy"
FRAMES = 12


class TraceTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("in.raw", bytes(range(35)) * FRAMES)

    def run_graph(self, *options, graph=QUEUED, target="out.raw"):
        return self.holoflow("run", graph, "--in", "in.raw", "--out", target, "--caps", CAPS, "--device", "cpu",
                             *options)

    def events(self, phase, name="trace.json"):
        trace = json.loads((self.folder / name).read_text())
        return [event for event in trace["traceEvents"] if event["ph"] == phase]


class Trace(TraceTest):
    def test_it_has_every_call_of_every_node_and_a_row_for_each_section(self):
        result = self.run_graph("--trace", "trace.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = {}
        for span in self.events("X"):
            self.assertGreaterEqual(min(span["ts"], span["dur"]), 0)
            if span["cat"] != "wait":
                calls[span["name"], span["cat"]] = calls.get((span["name"], span["cat"]), 0) + 1
        for node in ("copy", "copy1", "output"):
            self.assertEqual(calls[node, "execute"], FRAMES, calls)
        self.assertEqual(calls["batchqueue", "push"], FRAMES)
        self.assertEqual(calls["batchqueue", "pop"], FRAMES)
        rows = [event["args"]["name"] for event in self.events("M") if event["name"] == "thread_name"]
        self.assertEqual(rows, ["section 0, thread", "section 1, thread"])

    def test_a_run_that_fails_leaves_its_trace(self):
        result = self.run_graph("--trace", "trace.json", target="/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/dev/full", result.stderr)
        self.assertIn("copy", {span["name"] for span in self.events("X")})

    def test_an_interrupted_run_leaves_its_trace(self):
        for pipe in ("in", "out"):
            os.mkfifo(self.folder / pipe)
        process = subprocess.Popen(
            [TOOL, "run", QUEUED, "--in", "in", "--out", "out", "--caps", CAPS, "--trace", "trace.json"],
            cwd=self.folder, stderr=subprocess.PIPE, text=True)
        with open(self.folder / "in", "wb") as source, open(self.folder / "out", "rb") as sink:
            source.write(bytes(35 * 3))
            source.flush()
            self.assertEqual(sink.read(35 * 3), bytes(35 * 3))
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)  # though it still waits for the pipe
        self.assertEqual(process.returncode, 128 + signal.SIGINT, errors)
        self.assertEqual({span["name"] for span in self.events("X")} & {"copy", "copy1", "batchqueue"},
                         {"copy", "copy1", "batchqueue"})

    def test_strange_names_do_not_spoil_it(self):
        name = 'µ "x" \\'
        graph = json.dumps({"nodes": {"in": {"type": "Input"}, name: {"type": "Copy"}, "o": {"type": "Output"}},
                            "edges": [{"from": "in", "to": name}, {"from": name, "to": "o"}]})
        result = self.run_graph("--trace", "trace.json", graph=graph)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(name, {span["name"] for span in self.events("X")})

    def test_a_file_that_cannot_be_written_is_a_fault(self):
        result = self.run_graph("--trace", "nowhere/trace.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nowhere/trace.json", result.stderr)
        self.assertIn("--trace", result.stderr)
        self.assertFalse((self.folder / "out.raw").exists())
        result = self.run_graph("--trace", "./out.raw")
        self.assertEqual(result.returncode, 1)
        self.assertIn('node "output" writes this file already', result.stderr)

    def test_without_the_option_nothing_is_written(self):
        self.run_graph()
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"in.raw", "out.raw"})


class Metrics(TraceTest):
    def test_a_line_for_each_section_and_node(self):
        result = self.run_graph("--metrics")
        self.assertEqual(result.returncode, 0, result.stderr)
        for section in (0, 1):
            self.assertRegex(
                result.stderr,
                rf"(?m)^  section {section}: limited by (host|upstream|downstream), "
                r"\d+\.\d iterations per second, host \d+ %")
        for node in ("copy", "copy1", "output"):
            self.assertRegex(result.stderr, rf"(?m)^  {node}: {FRAMES} runs, host \d+\.\d+ ms.* MB/s$")
        self.assertRegex(result.stderr, r"(?m)^  batchqueue: \d+ runs, host \d+\.\d+ ms")

    def test_bench_says_what_limits_each_section(self):
        text = self.good("bench", QUEUED, "--device", "cpu", "--repetitions", "2", "--size", "8x8", "--frames", "50",
                         "--json", "report.json")
        self.assertRegex(text, r"where the time goes, from one more repetition \(with metrics \d+ % of the speed\)")
        self.assertRegex(text, r"(?m)^  section 1: limited by (host|upstream|downstream), ")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(len(report["frames_per_second"]["values"]), 2, "the one more is not among them")
        metrics = report["metrics"]
        self.assertGreater(metrics["frames_per_second"], 0)
        self.assertGreater(metrics["ratio_to_unmeasured"], 0)
        self.assertEqual(set(metrics["sections"]), {"section 0", "section 1"})
        for section in metrics["sections"].values():
            self.assertIn(section["limiter"], ("host", "upstream", "downstream"))
            self.assertGreater(section["iterations_per_second"], 0)
        self.assertEqual(metrics["nodes"]["copy"]["runs"], 50)
        self.assertGreater(metrics["nodes"]["copy"]["host_ms"], 0)
        self.assertEqual(metrics["nodes"]["copy"]["device_ms"], 0)


if __name__ == "__main__":
    unittest.main()
