#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""holoflow check: every fault at once, exit statuses, caps without GStreamer, garbage."""
import json
import os
import random
import shutil
import subprocess
import threading
import unittest

from command import GREY, ROOT, TOOL, CommandTest

CAPS = [  # caps, the tensor they mean
    ("video/x-raw,format=GRAY8,width=640,height=480,framerate=30/1", "U8 [1, 480, 640]"),
    ("video/x-raw, format=(string)GRAY16_LE, width=(int)33, height=(int)21", "U16 [1, 21, 33]"),
    ("video/x-raw,format=\"RGB\",width=5,height=3", "U8 [1, 3, 5, 3]"),
    ("video/x-raw,format=BGRx,width=5,height=3;", "U8 [1, 3, 5, 4]"),
    ("other/tensors,format=static,num_tensors=1,types=(string)float32,dimensions=(string)640:480:1",
     "F32 [1, 480, 640]"),
    ("other/tensors,num_tensors=1,types=uint16,dimensions=7:5", "U16 [5, 7]"),
    ("application/x-holoflow-tensor,dtype=CF32,shape=\"1,480,640\"", "CF32 [1, 480, 640]"),
    ("application/x-holoflow-tensor, dtype=(string)F32, shape=(string)\"4, 3, 2\"", "F32 [1, 3, 2]"),
]
WRONG_CAPS = [  # caps, what the message holds
    ("", "expected a media type"),
    ("GRAY8", "expected a media type"),
    ("video/x-raw", "expected format in video/x-raw, got none; add"),
    ("video/x-raw,", "expected a field behind"),
    ("video/x-raw,width", "expected a field as name=value"),
    ("video/x-raw,format=GRAY8", "expected width"),
    ("video/x-raw,format=GRAY8,width=0,height=1", "expected width as a positive number"),
    ("video/x-raw,format=GRAY8,width=-4,height=1", "expected width as a positive number"),
    ("video/x-raw,format=GRAY8,width=99999999999999999999,height=1", "expected width"),
    ("video/x-raw,format=GRAY8,width=70000,height=1", "between 1 and 65535"),
    ("video/x-raw,format=RGBA,width=65535,height=65535", "below 4 GiB"),
    ("video/x-raw,format=GRAY9,width=4,height=4", 'did you mean "GRAY8"?'),
    ("video/x-raw,format={GRAY8,RGB},width=4,height=4", "no list or range"),
    ("video/x-raw,format=GRAY8,width=[1,9],height=4", "no list or range"),
    ("video/x-raw,format=GRAY8,width=4,width=4,height=4", "twice"),
    ("video/x-raw(memory:CUDAMemory),format=GRAY8,width=4,height=4", "system memory"),
    ("video/x-raw,format=GRAY8,width=4,height=4;video/x-raw", "expected one structure"),
    ("video/x-raw,format=GRAY8,width=4,height=4,interlace-mode=interleaved", "deinterlace"),
    ("video/x-raw,format=\"GRAY8", "closing quote"),
    ("video/x-raw,format=(string GRAY8", "behind the type"),
    ("video/x-raw,format=NV12,width=4,height=4", '"as": "GRAY"'),
    ("video/x-h264,width=4,height=4", "got video/x-h264"),
    ("application/x-holoflow-tensor,dtype=F64,shape=\"1,2\"", "expected dtype="),
    ("application/x-holoflow-tensor,dtype=F32,shape=1,2", "expected a field"),
    ("application/x-holoflow-tensor,dtype=F32,shape=\"1,0\"", "positive numbers"),
    ("application/x-holoflow-tensor,dtype=F32,shape=\"1,4294967296,4294967296,4294967296\"",
     "overflows"),
    ("other/tensors,num_tensors=2,types=uint8,dimensions=1:1", "num_tensors=1"),
    ("other/tensors,num_tensors=1,types=int8,dimensions=1:1", "expected types="),
]


class Check(CommandTest):
    def test_says_in_one_line_what_a_good_graph_is(self):
        for graph in sorted((ROOT / "examples" / "graphs").glob("*.json")):
            lines = self.good("check", graph, "--caps", GREY).splitlines()
            self.assertEqual(len(lines), 1)
            self.assertRegex(lines[0], r'^good: \d+ nodes in \d+ sections?; "in.*" takes U8 \[1, 6, 8')
            self.assertIn("gives", lines[0])

    def test_a_transform_along_time_of_single_frames_is_a_warning(self):
        chain = "conversion target=F32 ! rfft axis=0 ! abs"
        result = self.holoflow("check", chain, "--caps", GREY)
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.startswith("good: "), result.stdout)
        self.assertEqual(
            result.stderr,
            'warning: node "rfft" (RFFT): transforms along the frame axis, but each tensor holds one '
            'frame; put a "BatchQueue" node before it\n')
        self.assertIn('warning: node "rfft"', self.good("plan", chain, "--caps", GREY))
        windows = "conversion target=F32 ! batchqueue output_size=4 ! rfft axis=0 ! abs"
        self.assertEqual(self.holoflow("check", windows, "--caps", GREY).stderr, "")

    def test_takes_a_file_json_or_a_chain(self):
        self.write("a.json", '{"nodes": {"i": {"type": "Input"}, "o": {"type": "Output"}}, "edges": ["i->o"]}')
        for graph in ("a.json", (self.folder / "a.json").read_text(), "copy"):
            self.good("check", graph, "--caps", GREY)

    def test_caps_mean_the_tensor_of_the_table(self):
        for caps, tensor in CAPS:
            self.assertIn(f'"input" takes {tensor} on Host', self.good("check", "copy", "--caps", caps), caps)

    def test_wrong_caps_say_what_was_expected(self):
        for caps, text in WRONG_CAPS:
            self.assert_line(self.bad("check", "copy", "--caps", f"input={caps}"), text)

    def test_any_caps_end_in_a_sentence(self):
        # The same texts in every run.
        rng = random.Random(21)
        pieces = ["video/x-raw", ",", "format=", "GRAY8", "width=", "height", "=", "8", "(int)", "(", ")", '"',
                  "\\", "{",
                  "[1,2]", " ", ";", "other/tensors", "dimensions=", "1:2:3", "types=uint8", "num_tensors=1", "\u00e9",
                  "application/x-holoflow-tensor", "dtype=CF32", 'shape="1,2,3"', "-1", "99999999999999999999999"]
        for _ in range(200):
            caps = "".join(rng.choices(pieces, k=rng.randrange(1, 14)))
            result = self.holoflow("check", "copy", "--caps", f"input={caps}")
            self.assertIn(result.returncode, (0, 1), (caps, result.stderr))
            self.assertNotEqual(result.stdout + result.stderr, "")

    def test_luma_of_yuv_and_grey_of_colours(self):
        for text in ("NV12", "I420", "RGB", "BGRx"):
            caps = f"video/x-raw,format={text},width=7,height=5"
            self.assertIn("takes U8 [1, 5, 7]", self.good("check", 'input as="GRAY" ! copy', "--caps", caps))
        self.assertIn("[1, 6, 8, 3]", self.good("check", 'input as="RGB" ! copy', "--caps", GREY))

    def test_every_fault_is_one_line(self):
        lines = self.bad("check", json.dumps({"nodes": {
            "in": {"type": "Input"}, "a": {"type": "Meen"}, "b": {"type": "Filter2D"}, "c": {"typ": "Copy"},
            "d": {"type": "Slice", "params": {"slises": []}}, "e": {"type": "BatchQueue", "params": {
                "output_size": 0, "policy": "blok", "target_capacity": 4.0}}},
            "edges": ["in -> a", "in ->", {"from": "in", "to": "nobody"}], "edgse": []}))
        for parts in (('/edgse', 'did you mean "edges"?'), ('/nodes/c', '"type" is missing'),
                      ('/nodes/c/typ', 'did you mean "type"?'), ('/edges/1', 'expected node:slot'),
                      ('"Meen"',), ('"b" (Filter2D)', '"r_outer" is required'), ('"slises"', '"slices"'),
                      ('output_size', '≥ 1, got 0'), ('blok', '"block"'), ('4.0', 'write 4'),
                      ('node "in" (Input)', '--caps', '--like')):
            self.assert_line(lines, *parts)

    def test_consequences_of_unreadable_parts_are_not_faults(self):
        lines = self.bad("check", '{"nodes": {"i": {"type": "Input"}, "c": {"typ": "Copy"},'
                         ' "o": {"type": "Output"}}, "edges": ["i -> c", "c -> o"]}', "--caps", GREY)
        self.assertEqual(len(lines), 2, lines)
        for line in lines:
            self.assertIn("/nodes/c", line)

    def test_nodes_behind_a_failed_inference_are_listed(self):
        lines = self.bad("check", "sqrt ! copy", "--caps", GREY)
        self.assert_line(lines, "(Sqrt), input 0: expected F32 or CF32")
        self.assert_line(lines, 'not checked, because a node before them has a fault: "copy", "output"')
        self.assertEqual(len(lines), 2)

    def test_nodes_behind_a_fault_are_no_faults(self):
        self.assertEqual(len(self.bad("check", "copy ! conversion target=F33 ! copy ! abs", "--caps", GREY)), 1)
        self.assertEqual(len(self.bad("check", "copy ! abs")), 1)
        self.assertEqual(len(self.bad("check", "nowhere.json", "--caps", GREY)), 1)

    def test_types_that_are_near_none_say_where_the_list_is(self):
        hint = 'type "{}"; "holoflow tasks" lists the types there are'
        graph = '{"nodes": {"in": {"type": "Input"}, "g": {"type": "Gauss"}}, "edges": ["in -> g"]}'
        self.assert_line(self.bad("check", graph, "--caps", GREY), hint.format("Gauss"))
        self.assert_line(self.bad("check", "gauss", "--caps", GREY), hint.format("gauss"))

    def test_a_missing_file_says_where_it_was_looked_for(self):
        folder = os.path.realpath(self.folder)
        for name, path in (("no.json", f"{folder}/no.json"), ("a/../no.json", f"{folder}/no.json")):
            self.assertEqual(self.bad("check", name, "--caps", GREY),
                             [f'graph file "{name}": there is no such file; looked for "{path}"'])
        self.assertEqual(self.bad("check", f"{folder}/no.json"),
                         [f'graph file "{folder}/no.json": there is no such file'])
        self.assertEqual(self.bad("check", "copy", "--like", "no.npy"),
                         [f'--like no.npy: "no.npy": there is no such file; looked for "{folder}/no.npy"'])

    def test_of_very_many_faults_some_are_listed_and_the_rest_is_counted(self):
        name = "n" * 1000
        edges = [f"{name}{i} -> out" for i in range(500)]
        graph = self.folder / "bad.json"
        graph.write_text(json.dumps({
            "nodes": {"in": {"type": "Input"}, "out": {"type": "Output"}}, "edges": edges}))
        lines = self.bad("check", graph, "--caps", GREY)
        self.assertEqual(len(lines), 51)
        # An unknown node for each edge, and a second producer of "out:0" for each but the first.
        self.assertEqual(lines[-1], "and 949 more")
        self.assertLess(max(len(line) for line in lines), 1000)

    def test_several_inputs_are_named(self):
        graph = json.dumps({"nodes": {"a": {"type": "Input"}, "b": {"type": "Input"},
                                      "add": {"type": "Add"}, "o": {"type": "Output"}},
                            "edges": ["a -> add:0", "b -> add:1", "add -> o"]})
        lines = self.bad("check", graph)
        self.assert_line(lines, 'node "a" (Input)', '--caps "a=video/x-raw')
        self.assert_line(lines, 'node "b" (Input)', '--caps "b=video/x-raw')
        text = self.good("check", graph, "--caps", f"a={GREY}", "--caps",
                         'b=application/x-holoflow-tensor,dtype=F32,shape="1,6,8"')
        self.assertIn('"a" takes U8', text)
        self.assertIn('"b" takes F32', text)
        self.good("check", graph, "--caps", GREY)  # for both
        self.assertEqual(self.bad("check", graph, "--caps", f"aa={GREY}"), [
            f'--caps aa={GREY}: expected the name of an Input node in front of "=", got "aa"; did you mean "a"?'])
        self.assertIn('"b" takes F32', self.good(  # whatever their order
            "check", graph, "--caps", GREY, "--caps", 'b=application/x-holoflow-tensor,dtype=F32,shape="1,6,8"'))

    def test_every_input_gets_its_caps_once(self):
        self.assertEqual(self.bad("check", "copy", "--caps", GREY, "--caps", "video/x-raw,format=RGB,width=8,height=6"), [
            "--caps video/x-raw,format=RGB,width=8,height=6: expected --caps or --like once for each Input, all have "
            "theirs; leave one out"])
        self.assertEqual(self.bad("check", "copy", "--caps", f"input={GREY}", "--caps", f"input={GREY}"), [
            f'--caps input={GREY}: expected --caps or --like once for node "input" (Input), got a second; leave one '
            "out"])
        self.assert_line(self.bad("check", "copy", "--caps", GREY, "--like", "a.npy"), "--like a.npy", "once")
        self.assert_line(self.bad("check", "copy", "--caps", f"inn={GREY}"), 'got "inn"; the graph has "input"')
        self.assert_line(self.bad("check", "copy", "--like", "inptu=a.npy"), 'did you mean "input"?', "./inptu=a.npy")
        self.assert_line(self.bad("check", "copy", "--caps", "format=GRAY8,width=8,height=6"), "expected a media type")
        self.assertIn("for every Input that has none of its own", " ".join(self.good("check", "--help").split()))

    def test_an_output_without_elements_is_not_good(self):
        graph = json.dumps({"nodes": {"in": {"type": "Input"}, "none": {"type": "Slice", "params": {
            "slices": [{}, {"start": 2, "stop": 2}, {}]}}, "out": {"type": "Output"}},
            "edges": ["in -> none", "none -> out"]})
        for command in ("check", "plan"):
            self.assertEqual(self.bad(command, graph, "--caps", GREY), [
                'node "out" (Output): expected a tensor with elements, got U8 [1, 0, 8] on Host; change the nodes '
                'before it'])

    def test_an_input_that_names_its_caps_needs_no_option(self):
        self.assertIn("U8 [1, 6, 8]", self.good("check", f'input caps="{GREY}" ! copy'))
        self.assert_line(self.bad("check", 'input caps="video/x-raw,format=GRAY8" ! copy'), "--caps")

    def test_usage_is_status_2(self):
        for arguments in ((), ("check",), ("chekc", "copy"), ("check", "copy", "--cap", GREY),
                          ("check", "copy", "--device", "gpu"), ("check", "copy", "more")):
            self.bad(*arguments, status=2)
        commands = "holoflow: expected check, plan, tasks, run, bench or doctor, got "
        for arguments, got in (((), "nothing"), (("chekc", "copy"), '"chekc"; did you mean "check"?'),
                               (("frobnicate",), '"frobnicate"')):
            self.assertEqual(self.bad(*arguments, status=2),
                             [commands + got, "Run with --help for more information."])
        self.assertIn("check", self.good("--help"))
        self.assertIn("holoflow 0", self.good("--version"))

    def test_like_reads_a_header(self):
        self.require_format(".png")
        # 33 by 21 pixels, grey, 16 bits: signature and IHDR are enough to know that.
        import struct
        import zlib
        header = struct.pack(">IIBBBBB", 33, 21, 16, 0, 0, 0, 0)

        def chunk(kind, data):
            body = kind + data
            return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
        rows = zlib.compress(b"".join(b"\0" + b"\1\2" * 33 for _ in range(21)))
        self.write("a.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) +
                   chunk(b"IEND", b""))
        self.assertIn("takes U16 [1, 21, 33]", self.good("check", "copy", "--like", "a.png"))
        self.assertIn("takes U16 [1, 21, 33]", self.good("check", "copy", "--like", "input=a.png"))

    def test_like_says_what_is_wrong_with_a_file(self):
        self.require_format(".png")
        self.require_format(".tif")
        self.write("empty.npy", "")
        self.write("junk.png", os.urandom(1000))
        self.write("junk.tif", os.urandom(1000))
        self.write("junk.xyz", os.urandom(1000))
        os.mkfifo(self.folder / "pipe.npy")
        for name, text in (("no.npy", "there is no such file"), ("empty.npy", "expected a NumPy array"),
                           ("junk.png", "expected a whole PNG"), ("junk.tif", "expected a TIFF"),
                           (".", "got a folder"), ("pipe.npy", "expected a regular file")):
            self.assert_line(self.bad("check", "copy", "--like", name), f'"{name}"', text)
        if shutil.which("gst-discoverer-1.0"):
            self.assert_line(self.bad("check", "copy", "--like", "junk.xyz"), "finds none")
        env = {"PATH": "/nonexistent"}
        self.assert_line(self.bad("check", "copy", "--like", "junk.xyz", env=env),
                         "install gstreamer1.0-plugins-base-apps")

    def test_like_asks_gstreamer_about_other_media(self):
        if not shutil.which("gst-discoverer-1.0") or not shutil.which("gst-launch-1.0"):
            self.skipTest("no GStreamer")
        self.make_video("video", "I420", "vp8enc ! webmmux")
        self.assert_line(self.bad("check", "copy", "--like", "video"), "got I420", '"as": "GRAY"')
        self.assertIn("[1, 34, 50] on Host", self.good("check", 'input as="GRAY" ! copy', "--like", "video"))
        self.make_video("a b!$'video", "GRAY16_LE", "avenc_ffv1 ! matroskamux")
        for graph in ("copy", 'input as="GRAY" ! copy'):
            self.assertIn('"input" takes U16 [1, 34, 50]', self.good("check", graph, "--like", "a b!$'video"))

    def test_like_refuses_what_the_element_refuses(self):
        if not shutil.which("gst-discoverer-1.0") or not shutil.which("gst-launch-1.0"):
            self.skipTest("no GStreamer")
        inspected = subprocess.run(["gst-inspect-1.0", "--exists", "holoflowbin"], timeout=60, check=False)
        for pixels in ("I420_10LE", "Y444", "GRAY16_LE"):
            self.make_video("video", pixels, "avenc_ffv1 ! matroskamux")
            for graph in ('input as="GRAY" ! copy', 'input as="RGB" ! copy', "copy"):
                takes = pixels == "GRAY16_LE" and "RGB" not in graph
                result = self.holoflow("check", graph, "--like", "video")
                self.assertEqual(result.returncode == 0, takes, (pixels, graph, result.stderr))
                if not takes:
                    self.assertIn(f"got {pixels}", result.stderr.replace('"', ""))
                if inspected.returncode == 0:
                    self.assertEqual(self.element_takes(graph), takes, (pixels, graph))

    def element_takes(self, graph):
        result = subprocess.run(
            ["gst-launch-1.0", "filesrc", f"location={self.folder / 'video'}", "!", "decodebin", "!", "holoflowbin",
             f"graph={graph}", "!", "fakesink"], capture_output=True, timeout=60, check=False)
        return result.returncode == 0

    def make_video(self, name, pixels, encoder):
        made = subprocess.run(
            ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=3", "!",
             f"video/x-raw,format={pixels},width=50,height=34", "!", *encoder.split(), "!", "filesink",
             f"location={self.folder / 'made'}"], capture_output=True, timeout=60, check=False)
        if made.returncode != 0:
            self.skipTest(f"no {encoder}")
        os.rename(self.folder / "made", self.folder / name)

    def test_messages_do_not_move_the_cursor(self):
        for line in self.bad("check", "copy", "--like", "a\x1b[2J\nb.npy"):
            self.assertNotIn("\x1b", line)

    def test_sub_graphs(self):
        graph = {"nodes": {"source": {"type": "Graph", "params": {"graph": "source"}}, "o": {"type": "Output"}},
                 "edges": ["source -> o"],
                 "graphs": {"source": {"nodes": {"in": {"type": "Input"}}, "edges": [], "outputs": ["in"]}}}
        self.assertIn('"source/in" takes U8 [1, 6, 8]', self.good("check", json.dumps(graph), "--caps", GREY))
        self.good("check", json.dumps(graph), "--caps", f"source/in={GREY}")
        graph["nodes"]["source"]["params"]["graph"] = "sauce"
        self.assert_line(self.bad("check", json.dumps(graph), "--caps", GREY), 'did you mean "source"?')

    def test_like_starts_no_shell(self):
        name = "$(touch stolen);touch stolen;`touch stolen`.mkv"
        self.write(name, b"junk")
        self.bad("check", "copy", "--like", name)
        self.assertFalse((self.folder / "stolen").exists())


class Garbage(CommandTest):
    def test_texts_that_are_no_graph(self):
        self.write("empty.json", "")
        self.write("binary.json", os.urandom(4096))
        self.write("deep.json", '{"nodes":' + "[" * 10000)
        self.write("object.json", '{"nodes": {"a": ' * 10000)
        self.write("huge.json", b" " * (9 << 20))
        for name, text in (("empty.json", "empty.json"), ("binary.json", "binary.json"),
                           ("deep.json", "deep.json, line 1"), ("object.json", "object.json, line 1"),
                           ("huge.json", "expected at most"), ("no.json", "there is no such file"),
                           (".", "got a folder"), ("", "chain"), ("\x01\x02", "chain"),
                           ("/dev/zero", "expected at most"), ("{" * 10000, "graph, line 1")):
            self.assert_line(self.bad("check", name, "--caps", GREY), text)

    def test_a_graph_from_a_pipe(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        text = '{"nodes": {"i": {"type": "Input"}, "o": {"type": "Output"}}, "edges": ["i->o"]}'
        writer = threading.Thread(target=lambda: path.write_text(text))
        writer.start()
        self.assertIn("good: 2 nodes", self.good("check", "pipe", "--caps", GREY))
        writer.join()

    def test_a_full_disk_is_told(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            result = subprocess.run([TOOL, "tasks"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                    check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot be written", result.stderr)


if __name__ == "__main__":
    unittest.main()
