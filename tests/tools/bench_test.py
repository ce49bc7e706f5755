#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""holoflow bench: what it reports, that it counts frames right, and what it refuses."""
import json
import unittest

from command import ROOT, CommandTest

QUICK = ("--device", "cpu", "--repetitions", "2")
TWO_INPUTS = json.dumps({
    "nodes": {"a": {"type": "Input"}, "b": {"type": "Input"}, "sum": {"type": "Add"}, "out": {"type": "Output"}},
    "edges": ["a -> sum:0", "b -> sum:1", "sum -> out"]})
REFUSED = [  # options, what the message holds
    (("--frames", "0"), "--frames: expected a whole number of at least 1, got \"0\""),
    (("--frames", "-3"), "expected a whole number"),
    (("--frames", "many"), "expected a whole number"),
    (("--frames", "1.5"), "expected a whole number"),
    (("--frames", "99999999999999999999999"), "expected a whole number"),
    (("--repetitions", "0"), "--repetitions: expected a whole number"),
    (("--seconds", "0"), "--seconds: expected a number of seconds"),
    (("--seconds", "nan"), "expected a number of seconds"),
    (("--seconds", "1e9"), "expected a number of seconds"),
    (("--seconds", "1", "--frames", "1"), "excludes"),
    (("--size", "64"), "--size: expected a size as WIDTHxHEIGHT, got \"64\""),
    (("--size", "64x"), "expected a size"),
    (("--size", "0x4"), "expected a size"),
    (("--size", "4x4x4"), "expected a size"),
    (("--device", "tpu"), "--device"),
]


class Bench(CommandTest):
    def report(self, graph, *options):
        self.good("bench", graph, *QUICK, "--json", "report.json", *options)
        return json.loads((self.folder / "report.json").read_text())

    def test_report_says_what_was_measured_where(self):
        report = self.report(ROOT / "examples" / "graphs" / "bandpass.json", "--size", "32x16", "--frames", "12")
        self.assertEqual(report["device"], "CPU")
        self.assertEqual(report["inputs"], {"in": "U8 [1, 16, 32] on Host"})
        self.assertEqual((report["frames"], report["frames_in"], report["frames_out"]), (12, 12, 12))
        for figure in ("frames_per_second", "busy_cores"):
            values = report[figure]
            self.assertEqual(len(values["values"]), 2)
            self.assertEqual((values["minimum"], values["maximum"]), (min(values["values"]), max(values["values"])))
            self.assertIn(values["median"], values["values"])
        self.assertGreater(report["frames_per_second"]["minimum"], 0)
        self.assertGreater(report["latency_us"]["median"], 0)
        self.assertGreaterEqual(report["latency_us"]["percent_99"], report["latency_us"]["median"])
        self.assertGreaterEqual(report["idle_cores"], 0)
        for figure in ("link", "memory", "copy_loop"):
            self.assertIsNone(report[figure], "there is no GPU")
        for field in ("program", "version", "date", "machine", "graph", "repetitions"):
            self.assertIn(field, report)

    def test_on_a_gpu_copies_alone_are_measured_too(self):
        result = self.holoflow("bench", "upload ! batchqueue ! download", "--device", "cuda", "--size", "16x16",
                               "--frames", "12", "--repetitions", "1", "--json", "report.json")
        if "no CUDA" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("copies alone, by a loop written by hand: ", result.stdout)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertGreater(report["copy_loop"]["frames_per_second"], 0)
        self.assertGreater(report["copy_loop"]["ratio"], 0)
        self.assertGreater(report["link"]["to_device_bytes_per_second"], 0)
        self.assertGreater(report["memory"]["bytes_per_second"], 0)
        sections = report["metrics"]["sections"].values()
        self.assertGreater(sum(section["to_host_rate_share"] for section in sections), 0)

    def test_every_frame_is_in_every_ledger(self):
        report = self.report("batchqueue output_size=4 output_stride=2 ! copy", "--size", "8x8", "--frames", "10")
        for node, ledger in report["nodes"].items():
            gone = ledger["left"] + sum(ledger["dropped"].values()) + ledger["skipped"] + ledger["failed"]
            self.assertEqual(ledger["entered"], gone + ledger["held"], node)
        self.assertEqual(report["nodes"]["input"]["entered"], 10)

    def test_text_has_the_same_figures(self):
        text = self.good("bench", "copy", *QUICK, "--size", "8x8", "--frames", "7")
        for part in ("CPU: 7 frames of U8 [1, 8, 8] on Host, 7 out, 2 repetitions", "frames per second: ",
                     "busy cores: ", "latency from push to pop: median ", "input: entered 7, left 7"):
            self.assertIn(part, text)

    def test_caps_may_name_any_tensor(self):
        caps = 'application/x-holoflow-tensor,dtype=CF32,shape="1,4,6"'
        report = self.report("fft2 ! abs", "--caps", caps, "--frames", "3")
        self.assertEqual(report["inputs"], {"input": "CF32 [1, 4, 6] on Host"})
        self.assertEqual(report["frames_out"], 3)

    def test_several_inputs_each_get_the_frames(self):
        report = self.report(TWO_INPUTS, "--size", "8x8", "--frames", "5",
                             "--caps", "b=video/x-raw,format=GRAY8,width=8,height=8")
        self.assertEqual(set(report["inputs"]), {"a", "b"})
        self.assertEqual((report["frames_in"], report["frames_out"]), (10, 5))
        self.assertIsNone(report["latency_us"])

    def test_a_size_is_for_the_inputs_that_are_left(self):
        caps = "video/x-raw,format=GRAY8,width=8,height=8"
        report = self.report("copy", "--caps", caps, "--size", "9x9", "--frames", "2")
        self.assertEqual(report["inputs"], {"input": "U8 [1, 8, 8] on Host"})
        self.assert_line(self.bad("bench", "copy", "--size", "70000x8"), "--size 70000x8: ")

    def test_batches_take_frames_one_by_one(self):
        graph = json.dumps({"nodes": {"in": {"type": "Input", "params": {"batch": 4}}, "out": {"type": "Output"}},
                            "edges": ["in -> out"]})
        report = self.report(graph, "--size", "8x8", "--frames", "8")
        self.assertEqual((report["frames_in"], report["frames_out"]), (8, 8))

    def test_seconds_choose_the_number_of_frames(self):
        report = self.report("copy", "--size", "8x8", "--seconds", "0.01")
        self.assertGreaterEqual(report["frames"], 1)
        self.assertEqual(report["frames_in"], report["frames"])

    def test_wrong_arguments_are_refused_with_a_sentence(self):
        for options, text in REFUSED:
            self.assert_line(self.bad("bench", "copy", *options, status=2), text)

    def test_wrong_graphs_are_refused_as_elsewhere(self):
        self.assert_line(self.bad("bench", "coppy", "--size", "8x8"), 'did you mean "Copy"?')
        self.assert_line(self.bad("bench", "copy"), "expected to know what it gets")
        self.assert_line(self.bad("bench", "copy", "--size", "70000x8"), "between 1 and 65535")
        self.assert_line(self.bad("bench", "nowhere/graph.json", "--size", "8x8"), "nowhere/graph.json")

    def test_report_that_cannot_be_written_is_a_fault(self):
        lines = self.bad("bench", "copy", *QUICK, "--size", "8x8", "--frames", "1", "--json", "nowhere/report.json")
        self.assert_line(lines, "nowhere/report.json", "cannot be written")


if __name__ == "__main__":
    unittest.main()
