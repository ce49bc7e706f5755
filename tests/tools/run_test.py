#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""holoflow run: files of every format through graphs, NumPy as the judge, and what cannot be read."""
import itertools
import json
import os
import random
import re
import threading
import unittest

from command import needed

np = needed("numpy")
from frames import PASS, QUEUE, SIZES, RunTest, ramp  # noqa: E402 (needs NumPy)
from images import (  # noqa: E402
    animated_png, palette_png, png_bytes, read_png, read_tiff, tiff_bytes, tiff_stack)


class Npy(RunTest):
    def test_round_trip_of_every_type_and_size(self):
        for dtype, (height, width), tail in itertools.product(("u1", "u2", "f4", "c8"), SIZES, ((), (3,))):
            array = ramp((3, height, width, *tail), dtype)
            self.save("in.npy", array)
            self.assertEqual(self.run_graph(PASS, "in.npy", "out.npy"), [3, 3])
            self.assert_same(self.load("out.npy"), array)

    def test_a_matrix_is_one_frame_and_a_vector_too(self):
        self.save("in.npy", ramp((5, 7), "u1"))
        self.run_graph(PASS, "in.npy", "out.npy")
        self.assert_same(self.load("out.npy"), ramp((1, 5, 7), "u1"))
        self.save("in.npy", ramp((9,), "f4"))
        self.run_graph(PASS, "in.npy", "out.npy")
        self.assert_same(self.load("out.npy"), ramp((1, 9), "f4"))

    def test_version_2_and_no_frames(self):
        with open(self.folder / "in.npy", "wb") as file:
            np.lib.format.write_array(file, ramp((2, 3, 4), "u2"), version=(2, 0))
        self.run_graph(PASS, "in.npy", "out.npy")
        self.assert_same(self.load("out.npy"), ramp((2, 3, 4), "u2"))
        self.save("in.npy", np.zeros((0, 3, 4), "u1"))
        self.assertEqual(self.run_graph(PASS, "in.npy", "out.npy"), [0, 0])
        self.assert_same(self.load("out.npy"), np.zeros((0, 3, 4), "u1"))

    def test_a_graph_computes(self):
        array = ramp((4, 21, 33), "f4")
        self.save("in.npy", array)
        self.run_graph("fft2", "in.npy", "out.npy")
        np.testing.assert_allclose(self.load("out.npy"), np.fft.fft2(array), rtol=1e-4, atol=1)

    def test_a_named_axis_is_transformed_and_numbers_are_no_picture_by_their_shape(self):
        # The last axis of all of these could be colours.
        for dtype, shape in (("c8", (2, 5, 6, 4)), ("f4", (2, 5, 6, 3))):
            array = ramp(shape, dtype)
            self.save("in.npy", array)
            for graph, expected in (("fft axis=3", np.fft.fft(array)), ("fft", np.fft.fft(array)),
                                    ("fft2", np.fft.fft2(array)), ("fft2 axes=[3,1]", np.fft.fft2(array, axes=(3, 1))),
                                    ("fftshift", np.fft.fftshift(array, axes=(2, 3)))):
                with self.subTest(graph=graph, dtype=dtype):
                    self.run_graph(graph, "in.npy", "out.npy")
                    np.testing.assert_allclose(self.load("out.npy"), expected, rtol=1e-4, atol=.1)

    def test_colours_are_a_picture_unless_they_are_called_a_tensor(self):
        array = ramp((2, 5, 6, 3), "u1")
        self.save("in.npy", array)
        picture, tensor, named = ((1, 2), (2, 3), (3,))
        for graph, axes in (("fftshift", picture), ("input as=TENSOR ! fftshift", tensor),
                            ("fftshift axes=[3]", named), ("input as=TENSOR batch=2 ! fftshift", tensor)):
            with self.subTest(graph=graph):
                self.run_graph(graph, "in.npy", "out.npy")
                self.assert_same(self.load("out.npy"), np.fft.fftshift(array, axes=axes))
        self.refuse("conversion target=F32 ! fft", "in.npy", "out.npy", "got the channel axis 3", "name the axis")
        self.write("in.png", png_bytes(array[0]))
        self.run_graph("input as=TENSOR ! fftshift", "in.png", "out.npy")
        self.assert_same(self.load("out.npy"), np.fft.fftshift(array[:1], axes=tensor))

    def test_more_frames_than_the_graph_holds(self):
        array = ramp((500, 3, 5), "u1")
        self.save("in.npy", array)
        self.run_graph("batchqueue ! copy ! batchqueue", "in.npy", "out.npy")
        self.assert_same(self.load("out.npy"), array)

    def test_what_is_lost_is_told(self):
        self.save("long.npy", ramp((600, 3, 5), "u1"))
        self.save("short.npy", ramp((5, 3, 5), "u1"))
        two = (
            "run", json.dumps({
                "nodes": {"i": {"type": "Input"}, "j": {"type": "Input"}, "a": {"type": "Add"},
                          "o": {"type": "Output"}},
                "edges": ["i -> a", "j -> a:1", "a -> o"]}),
            "--in", "i=long.npy", "--in", "j=short.npy", "--out", "out.npy")
        unused = r"59\d frames of the file of input \"i\" not used"
        self.assertRegex("\n".join(self.bad(*two)), unused)
        self.assertFalse((self.folder / "out.npy").exists())
        result = self.holoflow(*two, "--partial")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, unused)
        self.assertIn("5 frames out", result.stderr)
        # One path has windows of 8 frames, the other must hold what they wait for.
        self.save("in.npy", ramp((20, 3, 5), "u1"))
        result = self.holoflow(
            "run", json.dumps({
                "nodes": {"in": {"type": "Input"}, "short": {"type": "BatchQueue"},
                          "long": {"type": "BatchQueue",
                                   "params": {"output_size": 8, "output_stride": 1}},
                          "first": {"type": "Slice",
                                    "params": {"slices": [{"stop": 1}, {}, {}]}},
                          "sum": {"type": "Add"}, "o": {"type": "Output"}},
                "edges": ["in -> short", "in -> long", "long -> first", "first -> sum",
                          "short -> sum:1", "sum -> o"]}),
            "--in", "in.npy", "--out", "out.npy")
        self.assertIn("20 frames in, 13 frames out", result.stderr)
        lost = re.findall(r'(\d+) frames? dropped by queues: .*"short"', result.stderr)
        self.assertEqual(sum(map(int, lost)), 7, result.stderr)

    def test_two_outputs_do_not_share_a_file(self):
        self.save("in.npy", ramp((2, 3, 5), "u1"))
        result = self.holoflow(
            "run", json.dumps({
                "nodes": {"in": {"type": "Input"}, "a": {"type": "Output"}, "b": {"type": "Output"}},
                "edges": ["in -> a", "in -> b"]}),
            "--in", "in.npy", "--out", "a=out.npy", "--out", "b=./out.npy")
        self.assertEqual(result.returncode, 1)
        self.assertIn('node "a" writes this file already', result.stderr)

    def test_windows_are_stacked_and_incomplete_ones_told(self):
        array = ramp((7, 3, 5), "u2")
        self.save("in.npy", array)
        result = self.holoflow("run", QUEUE.format(3, 3), "--in", "in.npy", "--out", "out.npy")
        self.assertIn("7 frames in, 6 frames out", result.stderr)
        self.assertIn("1 frame dropped by queues", result.stderr)
        self.assert_same(self.load("out.npy"), array[:6])
        self.run_graph(QUEUE.format(2, 1), "in.npy", "out.npy")
        self.assert_same(self.load("out.npy"), np.concatenate([array[i:i + 2] for i in range(6)]))

    def test_padding_of_a_batch_stays_out(self):
        array = ramp((5, 3, 4), "u1")
        self.save("in.npy", array)
        self.run_graph("input batch=4 ! copy", "in.npy", "out.npy")
        self.assert_same(self.load("out.npy"), array)

    def test_windows_over_the_padding_of_a_batch_stay_out(self):
        array = ramp((7, 3, 4), "f4")
        self.save("in.npy", array)
        window = "input batch=5 ! batchqueue output_size=4 output_stride=1 target_capacity=10 ! "
        for keepdims in ("true", "false"):
            self.assertEqual(
                self.run_graph(window + f"mean axis=0 keepdims={keepdims}", "in.npy", "out.npy")[:2], [7, 4])
            means = np.stack([array[i:i + 4].mean(axis=0, dtype="f8") for i in range(4)])
            np.testing.assert_allclose(self.load("out.npy").reshape(means.shape), means, rtol=1e-5, atol=1e-3)

    def test_what_is_not_supported_says_what_to_save(self):
        good = ramp((2, 3, 4), "u1")
        for array, text in ((good.astype("f2"), "astype('float32')"), (good.astype("U3"), "expected elements of 1 to 8"),
                            (np.asfortranarray(good), "ascontiguousarray"), (np.array(5, "u1"), "single number"),
                            (np.zeros((2, 0, 4), "u1"), "frames with elements"),
                            (np.zeros(3, [("a", "u1")]), "elements of one type"),
                            (np.zeros((2, 1, 1, 1, 1, 1, 1, 1, 3), "u1"), "at most 8 axes")):
            self.save("in.npy", array)
            self.refuse(PASS, "in.npy", "out.npy", "expected", text)

    def test_broken_files(self):
        self.save("good.npy", ramp((3, 5, 7), "u1"))
        data = (self.folder / "good.npy").read_bytes()
        for cut in (0, 3, 7, 9, 40, 127, 128 + 34, len(data) - 1):
            self.write("in.npy", data[:cut])
            self.refuse(PASS, "in.npy", "out.npy", '"in.npy"', "expected")
        for wrong in (data.replace(b"(3, 5, 7)", b"(-3, 5, 7"), data.replace(b"(3, 5, 7)", b"(3, 5, x)"),
                      data.replace(b"(3, 5, 7)", b"(9, 5, 7)"), data.replace(b"descr", b"discr"),
                      data.replace(b"(3, 5, 7), }" + b" " * 30, b"(99999999999, 99999999999, 9999999999), } "),
                      b"\x93NUMPY\x02\x00\xff\xff\xff\xff", b"\x93NUMPY\x09\x00", os.urandom(500)):
            self.write("in.npy", wrong)
            self.refuse(PASS, "in.npy", "out.npy", '"in.npy"', "expected")


class Raw(RunTest):
    CAPS = "video/x-raw,format={},width=7,height=5"

    def test_round_trip_needs_caps(self):
        array = ramp((4, 5, 7), "u1")
        self.write("in.raw", array.tobytes())
        self.assertEqual(
            self.run_graph(PASS, "in.raw", "out.raw", "--caps", self.CAPS.format("GRAY8")), [4, 4])
        self.assertEqual((self.folder / "out.raw").read_bytes(), array.tobytes())
        self.refuse(PASS, "in.raw", "out.raw2", "say with --caps")

    def test_a_partial_frame_is_refused(self):
        for size, text in ((36, "got 1 and 1 bytes"), (34, "got 0 and 34 bytes")):
            self.write("in.raw", bytes(size))
            self.refuse(PASS, "in.raw", "out.raw", "whole frames of 35 bytes", text,
                        options=("--caps", self.CAPS.format("GRAY8")))

    def test_a_partial_frame_in_a_pipe_is_refused(self):
        os.mkfifo(self.folder / "pipe")
        writer = threading.Thread(target=lambda: (self.folder / "pipe").write_bytes(bytes(71)))
        writer.start()
        self.refuse(PASS, "pipe", "out.raw", "got 2 and 1 bytes", options=("--caps", self.CAPS.format("GRAY8")))
        writer.join()

    def test_luma_and_colours(self):
        planes = ramp((2, 5 * 7 + 2 * 4 * 3), "u1")
        self.write("in.raw", planes.tobytes())
        self.run_graph('input as="GRAY" ! copy', "in.raw", "out.npy", "--caps", self.CAPS.format("I420"))
        self.assert_same(self.load("out.npy"), planes[:, :35].reshape(2, 5, 7))
        pixels = ramp((2, 5, 7, 4), "u1")
        self.write("in.raw", pixels.tobytes())
        self.run_graph('input as="RGB" ! copy', "in.raw", "out.npy", "--caps", self.CAPS.format("BGRx"))
        self.assert_same(self.load("out.npy"), pixels[..., 2::-1])
        self.run_graph('input as="GRAY" ! copy', "in.raw", "out.npy", "--caps", self.CAPS.format("RGBA"))
        grey = np.floor(pixels[..., :3].astype("f8") @ [0.299, 0.587, 0.114] + 0.5 + 1e-9)
        self.assert_same(self.load("out.npy"), grey.astype("u1"))

    def test_pipes_and_devices_are_written_straight(self):
        array = ramp((4, 5, 7), "u1")
        self.save("in.npy", array)
        import subprocess
        from command import TOOL
        result = subprocess.run([TOOL, "run", PASS, "--in", "in.npy", "--out", "/dev/stdout"], cwd=self.folder,
                                capture_output=True, timeout=60, check=True)
        self.assertEqual(result.stdout, array.tobytes())
        self.run_graph(PASS, "in.npy", "/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))
        self.refuse(PASS, "in.npy", "/dev/full", "cannot be written")
        os.mkfifo(self.folder / "pipe.npy")
        self.refuse(PASS, "in.npy", "pipe.npy", "expected a regular file")


class Pictures(RunTest):
    def setUp(self):
        super().setUp()
        self.require_format(".png")
        self.require_format(".tif")

    def test_png_in_and_out(self):
        for dtype, tail, (height, width) in itertools.product(("u1", "u2"), ((), (3,), (4,)), SIZES):
            picture = ramp((height, width, *tail), dtype)
            self.write("in.png", png_bytes(picture))
            self.run_graph(PASS, "in.png", "out.npy")
            self.assert_same(self.load("out.npy"), picture[None])
            self.run_graph(PASS, "in.png", "out.png")
            self.assert_same(read_png((self.folder / "out.png").read_bytes()), picture)

    def test_png_of_other_kinds(self):
        palette, indices = ramp((9, 3), "u1"), ramp((5, 7), "u1") % 9
        self.write("in.png", palette_png(indices, palette))
        self.run_graph(PASS, "in.png", "out.npy")
        self.assert_same(self.load("out.npy"), palette[indices][None])
        two = ramp((5, 7, 2), "u1")  # grey and alpha
        self.write("in.png", png_bytes(two))
        self.run_graph(PASS, "in.png", "out.npy")
        self.assert_same(self.load("out.npy"), two[None][..., [0, 0, 0, 1]])

    def test_a_grey_graph_takes_a_coloured_png(self):
        self.write("in.png", png_bytes(np.full((5, 7, 3), 200, "u1")))
        self.run_graph('input as="GRAY" ! conversion target=F32 ! conversion target=U8', "in.png", "out.png")
        self.assert_same(read_png((self.folder / "out.png").read_bytes()), np.full((5, 7), 200, "u1"))

    def test_blue_comes_first_only_in_the_graph(self):
        pixels = ramp((1, 5, 7, 3), "u1")
        self.write("in.raw", pixels.tobytes())
        self.run_graph(PASS, "in.raw", "out.png", "--caps", "video/x-raw,format=BGR,width=7,height=5")
        self.assert_same(read_png((self.folder / "out.png").read_bytes()), pixels[0, ..., ::-1])

    def test_numbered_png(self):
        array = ramp((12, 5, 7), "u2")
        self.save("in.npy", array)
        self.run_graph(PASS, "in.npy", "frame-%04d.png")
        names = sorted(path.name for path in self.folder.glob("frame-*"))
        self.assertEqual(names, [f"frame-{i:04}.png" for i in range(12)])
        self.assertEqual(self.run_graph(PASS, "frame-%04d.png", "out.npy"), [12, 12])
        self.assert_same(self.load("out.npy"), array)
        (self.folder / "frame-0000.png").unlink()  # from 1 on, as other programs count
        self.run_graph(PASS, "frame-%04d.png", "out.tif")
        self.assert_same(np.stack(read_tiff((self.folder / "out.tif").read_bytes())), array[1:])
        self.write("frame-0005.png", png_bytes(ramp((6, 7), "u2")))
        self.refuse(PASS, "frame-%04d.png", "out2.npy", '"frame-0005.png"', "as in the files before")
        self.refuse(PASS, "none-%d.png", "out2.npy", 'expected files like "none-0.png", there are none')
        self.refuse(PASS, "frame-%04d.png", "out-%d.npy", "expected .png or .tif after a number")

    def test_numbered_files_behind_a_gap_are_told(self):
        array = ramp((6, 5, 7), "u1")
        self.save("in.npy", array)
        self.run_graph("copy", "in.npy", "s-%02d.png")
        for name in ("s-99.txt", "s-1.png", "s-x9.png", "t-77.png", "s-007.png"):
            self.write(name, "does not belong to it")
        self.assertEqual(self.holoflow("run", "copy", "--in", "s-%02d.png", "--out", "all.npy").stderr.count("\n"), 1)
        (self.folder / "s-03.png").unlink()
        note = r'"s-%02d.png": 2 files with higher numbers, "s-04.png" to "s-05.png", not read: there is no "s-03.png"'
        self.assertEqual(self.bad("run", "copy", "--in", "s-%02d.png", "--out", "o.npy"),
                         [note + "; --partial goes on without them"])
        self.run_graph("copy", "s-%02d.png", "o.npy", "--partial")
        self.assertEqual(self.notes, [note])
        self.assert_same(self.load("o.npy"), array[:3])
        (self.folder / "s-04.png").unlink()
        result = self.holoflow("run", "copy", "--in", self.folder / "s-%02d.png", "--out", "o.npy")
        self.assertIn(': 1 file with a higher number, "', result.stderr)
        (self.folder / "f3").mkdir()  # the number may be a folder's
        (self.folder / "f0").mkdir()
        for folder in ("f0", "f3"):
            os.link(self.folder / "s-00.png", self.folder / folder / "a.png")
        result = self.holoflow("run", "copy", "--in", "f%d/a.png", "--out", "o.npy")
        self.assertIn('"f%d/a.png": 1 file with a higher number, "f3/a.png", not read: there is no "f1/a.png"; ',
                      result.stderr)

    def test_older_numbered_files_that_stay_are_told(self):
        self.save("six.npy", ramp((6, 5, 7), "u1"))
        self.save("two.npy", ramp((2, 5, 7), "u1"))
        self.run_graph("copy", "six.npy", "s-%02d.png")
        old = (self.folder / "s-02.png").read_bytes()
        result = self.holoflow("run", "copy", "--in", "two.npy", "--out", "s-%02d.png")
        self.assertEqual((result.returncode, result.stderr.splitlines()[:-1]), (0, [
            '"s-%02d.png": 4 files with higher numbers, "s-02.png" to "s-05.png", not of this run but of an older one; '
            'delete what does not belong to these frames']))
        self.assertEqual((self.folder / "s-02.png").read_bytes(), old)
        result = self.holoflow("run", "copy", "--in", "six.npy", "--out", "s-%02d.png")
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_numbered_files_that_are_read_are_not_written(self):
        self.save("in.npy", ramp((3, 5, 7), "u1"))
        self.run_graph("copy", "in.npy", "s-%02d.png")
        for source, target in (("s-%02d.png", "./s-%02d.png"), ("s-%02d.png", "s-01.png"), ("s-01.png", "s-%02d.png")):
            self.refuse("copy", source, target, f"--out output={target}: ", "reads this file already")

    def test_tiff_in_and_out(self):
        for dtype, tail, (height, width) in itertools.product(("u1", "u2", "f4"), ((), (3,), (4,)), SIZES):
            pages = ramp((3, height, width, *tail), dtype)
            for order in "<>":
                self.write("in.tif", tiff_bytes(pages, order))
                self.assertEqual(self.run_graph(PASS, "in.tif", "out.npy"), [3, 3])
                self.assert_same(self.load("out.npy"), pages)
            self.run_graph(PASS, "in.tif", "out.tiff")
            self.assert_same(np.stack(read_tiff((self.folder / "out.tiff").read_bytes())), pages)

    def test_tensors_that_are_no_pictures(self):
        self.save("f.npy", ramp((2, 5, 7), "f4"))
        self.save("five.npy", ramp((2, 5, 7, 5), "u1"))
        self.save("two.npy", ramp((2, 5, 7), "u1"))
        self.save("c.npy", ramp((2, 5, 7), "c8"))
        self.refuse(PASS, "f.npy", "out.png", "U8 or U16 for PNG", '"Conversion"', "strategy Scaled")
        self.refuse(PASS, "f.npy", "out-%d.png", "U8 or U16 for PNG")
        self.refuse(PASS, "c.npy", "out.tif", "U8, U16 or F32 for TIFF")
        self.refuse(PASS, "five.npy", "out.png", "[N, H, W, 4] for PNG", "write .npy")
        self.refuse(PASS, "two.npy", "out.png", "expected one frame", "frame-%04d.png")

    def test_broken_pictures(self):
        png, tiff = png_bytes(ramp((9, 9), "u1")), tiff_bytes(ramp((2, 9, 9), "u1"))
        for cut in (0, 5, 20, 40, len(png) // 2, len(png) - 13):
            self.write("in.png", png[:cut])
            self.refuse(PASS, "in.png", "out.npy", '"in.png"', "expected a whole PNG")
        for cut in (0, 5, 60, len(tiff) // 2 + 20, len(tiff) - 60):
            self.write("in.tif", tiff[:cut])
            self.refuse(PASS, "in.tif", "out.npy", '"in.tif"')
        for data in (os.urandom(300), png[:40] + bytes([png[40] ^ 255]) + png[41:]):
            self.write("in.png", data)
            self.refuse(PASS, "in.png", "out.npy", '"in.png"')

    def test_damaged_files_never_crash(self):
        # The same damages in every run: bytes changed, fields made huge or zero, pieces cut out.
        rng = random.Random(20)
        grey = ramp((2, 9, 7), "u1")
        self.save("good.npy", grey)
        files = {"a.npy": (self.folder / "good.npy").read_bytes(), "a.png": png_bytes(ramp((9, 7, 3), "u2")),
                 "a.tif": tiff_bytes(grey), "b.tif": tiff_bytes(grey.astype("f4"), ">"),
                 "c.tif": tiff_stack(grey.astype("i2")), "b.png": animated_png(grey),
                 "d.tif": tiff_bytes(ramp((2, 21, 33, 3), "u1"), tile=(16, 16), planar=True)}
        for name, data in list(files.items()) * 30:
            damaged = bytearray(data)
            for _ in range(rng.choice((1, 2, 8))):
                at = rng.randrange(min(len(damaged), rng.choice((200, 100000))))
                damaged[at:at + rng.choice((1, 4, 4))] = rng.choice(
                    (b"", rng.randbytes(1), b"\xff" * 4, b"\x00" * 4, b"\x7f\xff\xff\xff"))
            self.write(name, damaged)
            result = self.holoflow("run", PASS, "--in", name, "--out", "out.npy")
            self.assertIn(result.returncode, (0, 1), (name, bytes(damaged), result.stderr))
            self.assertNotEqual(result.stderr.strip(), "")

    def test_pages_that_differ(self):
        self.write("in.tif", tiff_bytes([ramp((5, 7), "u1"), ramp((5, 8), "u1")]))
        self.refuse(PASS, "in.tif", "out.npy", "pages that are all alike", "page 2")

    def test_formats_are_known_by_content_too(self):
        picture = ramp((5, 7), "u1")
        self.write("a", png_bytes(picture))
        self.write("b", tiff_bytes([picture]))
        self.save("c.npy", picture)
        os.rename(self.folder / "c.npy", self.folder / "c")
        for name in "abc":
            self.run_graph(PASS, name, "out.npy")
            self.assert_same(self.load("out.npy"), picture[None])


class Command(RunTest):
    TWO = json.dumps({"nodes": {"a": {"type": "Input"}, "b": {"type": "Input"}, "sum": {"type": "Add"},
                                "x": {"type": "Output"}, "y": {"type": "Output"}},
                      "edges": ["a -> sum:0", "b -> sum:1", "sum -> x", "a -> y"]})

    def test_several_inputs_and_outputs(self):
        a, b = ramp((6, 5, 7), "f4"), ramp((4, 5, 7), "f4") * 2
        self.save("a.npy", a)
        self.save("b.npy", b)
        two = ("run", self.TWO, "--in", "a=a.npy", "--in", "b=b.npy", "--out", "x=x.npy", "--out", "y=y.npy")
        self.assert_line(self.bad(*two), "2 frames", "--partial")  # of unequal length
        self.assertFalse(list(self.folder.glob("[xy]*")))
        self.good(*two, "--partial")
        self.assert_same(self.load("x.npy"), a[:4] + b)
        self.assert_same(self.load("y.npy"), a[:4])

    def test_every_node_needs_one_file(self):
        self.save("a.npy", ramp((2, 5, 7), "u1"))
        lines = self.bad("run", self.TWO, "--in", "a=a.npy", "--in", "a=a.npy", "--out", "x.npy")
        self.assert_line(lines, '--in a=a.npy', "got a second")
        self.assert_line(lines, "--out x.npy", "2 Output nodes", "--out x=x.npy")
        self.assert_line(self.bad("run", self.TWO, "--in", "a=a.npy", "--out", "x=x.npy"), 'node "b"', "--in b=FILE")
        graph = '{"nodes": {"in": {"type": "Input"}}, "edges": []}'
        self.assert_line(self.bad("run", graph, "--in", "a.npy", "--out", "x"), "expected a node of type Output")
        self.bad("run", PASS, "--in", "a.npy", status=2)

    def refuse_in_one_line(self, *arguments, text):
        before = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(self.bad("run", *arguments), [text])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before, "it left something behind")

    def test_a_node_that_is_not_there_is_one_fault(self):
        self.save("a.npy", ramp((2, 5, 7), "u1"))
        self.write("x=a.npy", "a file of this name is not what is meant")
        expected = "expected the name of an {} node in front of \"=\", got "
        for file in ("o.npy", "folder/o.npy"):
            self.refuse_in_one_line(
                "copy", "--in", "a.npy", "--out", f"x={file}",
                text=f'--out x={file}: {expected.format("Output")}"x"; the graph has "output"; a file of this name is '
                f'./x={file}')
        self.refuse_in_one_line(
            "copy", "--in", "inputt=a.npy", "--out", "o.npy",
            text=f'--in inputt=a.npy: {expected.format("Input")}"inputt"; did you mean "input"?; a file of this name '
            'is ./inputt=a.npy')
        self.refuse_in_one_line(
            "copy", "--in", "x=a.npy", "--out", "o.npy",
            text=f'--in x=a.npy: {expected.format("Input")}"x"; the graph has "input"; a file of this name is '
            './x=a.npy')
        self.assert_line(self.bad("run", self.TWO, "--in", "a=a.npy", "--in", "c=a.npy", "--out", "x=x.npy",
                                  "--out", "y=y.npy"), '--in c=a.npy', 'got "c"; the graph has "a", "b"; ')

    def test_a_file_may_have_an_equals_sign_in_its_name(self):
        array = ramp((2, 5, 7), "u1")
        self.save("x=a.npy", array)
        for source in ("./x=a.npy", "input=x=a.npy", self.folder / "x=a.npy"):
            for target in ("./y=o.npy", "output=y=o.npy"):
                self.run_graph("copy", source, target)
                self.assert_same(self.load("y=o.npy"), array)
                (self.folder / "y=o.npy").unlink()
        for option in ("--in", "--out"):
            self.assertRegex(self.good("run", "--help"), r"(?s)\[NODE=\]FILE.*\./FILE")

    def test_nodes_of_sub_graphs_are_named_with_a_slash(self):
        self.save("a.npy", ramp((2, 5, 7), "u1"))
        graph = json.dumps({
            "nodes": {"source": {"type": "Graph", "params": {"graph": "source"}}, "o": {"type": "Output"}},
            "edges": ["source -> o"],
            "graphs": {"source": {"nodes": {"in": {"type": "Input"}}, "edges": [], "outputs": ["in"]}}})
        self.run_graph(graph, "source/in=a.npy", "o.npy")
        self.assert_line(self.bad("run", graph, "--in", "sourcr/in=a.npy", "--out", "o.npy"),
                         'got "sourcr/in"; did you mean "source/in"?')

    def test_names_are_not_judged_where_nodes_are_missing(self):
        self.refuse_in_one_line("nowhere.json", "--in", "x=a.npy", "--out", "y=o.npy",
                                text=f'graph file "nowhere.json": there is no such file; looked for '
                                f'"{os.path.realpath(self.folder)}/nowhere.json"')

    def test_all_faults_come_before_anything_runs(self):
        lines = self.bad("run", "filter2d ! conversion target=F33", "--in", "missing.npy", "--out", "x.npy")
        for parts in (("missing.npy", "no such file"), ('"r_outer" is required',), ("F33",)):
            self.assert_line(lines, *parts)

    def test_wrong_caps_of_a_raw_file(self):
        self.write("in.raw", bytes(70))
        lines = self.bad("run", PASS, "--in", "in.raw", "--out", "x", "--caps",
                         "video/x-raw,format=GRAY9,width=7,height=5")
        self.assertEqual(len([line for line in lines if "GRAY9" in line]), 1)

    def test_a_disk_that_fills_up_ends_a_long_run(self):
        self.save("a.npy", ramp((500, 5, 7), "u1"))
        self.refuse("batchqueue ! copy ! batchqueue", "a.npy", "/dev/full", "cannot be written")

    def test_numbered_files_before_a_fault_are_told(self):
        self.require_format(".png")
        self.require_format(".tif")
        pages = tiff_bytes(ramp((3, 9, 9), "u1"))
        self.write("in.tif", pages[:len(pages) - 150])
        lines = self.bad("run", PASS, "--in", "in.tif", "--out", "f-%d.png")
        names = sorted(path.name for path in self.folder.glob("f-*"))
        for name in names:
            read_png((self.folder / name).read_bytes())
        if names:
            self.assert_line(lines, f'up to "{names[-1]}" are whole and stay')
        self.assert_line(lines, "in.tif")

    def test_caps_that_contradict_the_file(self):
        self.save("a.npy", ramp((2, 5, 7), "u1"))
        self.refuse(PASS, "a.npy", "x.npy", "as the caps say", "leave --caps out",
                    options=("--caps", "video/x-raw,format=GRAY8,width=8,height=6"))

    def test_an_old_file_stays_when_the_run_fails(self):
        self.require_format(".png")
        self.require_format(".tif")
        self.write("out.npy", "old")
        self.write("in.tif", tiff_bytes(ramp((2, 9, 9), "u1"))[:-100])
        self.refuse(PASS, "in.tif", "out.npy", "in.tif")
        self.assertEqual((self.folder / "out.npy").read_text(), "old")

    def test_names_of_other_formats_are_not_written(self):
        self.save("a.npy", ramp((2, 5, 7), "u1"))
        for name in ("o.jpg", "o.JPEG", "o.bmp", "o.mp4", "o.gif", "o.npz", "o.y4m"):
            self.refuse(PASS, "a.npy", name, f'"{name}": expected .npy, .png, .tif or .tiff', "like .raw",
                        f"got {name[1:].lower()},")
        for name in ("o.raw", "o.bin", "o", "o.jpg.raw"):
            self.run_graph(PASS, "a.npy", name)
            self.assertEqual((self.folder / name).stat().st_size, 70)

    def test_what_is_read_is_not_written(self):
        array = ramp((2, 5, 7), "u1")
        self.save("a.npy", array)
        (self.folder / "sub").mkdir()
        os.symlink("a.npy", self.folder / "link.npy")
        os.symlink(self.folder, self.folder / "sub" / "up")
        os.link(self.folder / "a.npy", self.folder / "hard.npy")
        for name in ("a.npy", "./a.npy", "sub/../a.npy", "link.npy", "sub/up/a.npy", "hard.npy",
                     self.folder / "a.npy"):
            self.refuse("copy", "a.npy", name, f"--out output={name}: ", 'node "input" reads this file already')
        self.refuse("copy", "a.npy", "o.npy", "--trace sub/up/a.npy: ", "reads this file already",
                    options=("--trace", "sub/up/a.npy"))
        self.refuse("copy", "a.npy", "o.npy", "--trace sub/up/o.npy: ", "writes this file already",
                    options=("--trace", "sub/up/o.npy"))
        self.assert_same(self.load("a.npy"), array)
        os.symlink("o.npy", self.folder / "later.npy")
        self.save("b.npy", array)
        os.symlink("b.npy", self.folder / "b2.npy")
        lines = self.bad("run", self.TWO, "--in", "a=a.npy", "--in", "b=a.npy", "--out", "x=b.npy", "--out",
                         "y=b2.npy")
        self.assert_line(lines, "--out y=b2.npy", 'node "x" writes this file already')

    def test_where_nothing_can_be_written(self):
        self.save("a.npy", ramp((2, 5, 7), "u1"))
        self.refuse(PASS, "a.npy", "no/such/folder/x.npy", "cannot be created")
        self.refuse(PASS, "a.npy", ".", "got a folder")

    def test_links_and_rights(self):
        self.save("a.npy", ramp((2, 5, 7), "u1"))
        self.write("real.npy", "old")
        os.symlink("real.npy", self.folder / "link.npy")
        self.run_graph(PASS, "a.npy", "link.npy")
        self.assertTrue((self.folder / "link.npy").is_symlink())
        self.assert_same(self.load("real.npy"), ramp((2, 5, 7), "u1"))
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((self.folder / "real.npy").stat().st_mode & 0o777, 0o666 & ~mask)

    def test_an_interrupt_leaves_nothing_behind(self):
        import signal
        import subprocess
        from command import TOOL
        os.mkfifo(self.folder / "pipe")
        process = subprocess.Popen(
            [TOOL, "run", PASS, "--in", "pipe", "--out", "out.npy", "--caps",
             "video/x-raw,format=GRAY8,width=7,height=5"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        with open(self.folder / "pipe", "wb") as pipe:  # opens once the command reads
            pipe.write(bytes(35 * 3))
            pipe.flush()
            while not list(self.folder.glob("out.npy.part-*")):
                os.sched_yield()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)  # though it still waits for the pipe
        self.assertEqual(process.returncode, 128 + signal.SIGINT, errors)
        self.assertIn("interrupted", errors)
        self.assertFalse([path for path in self.folder.iterdir() if path.name.startswith("out")], errors)

    def test_a_gpu_is_insisted_on(self):
        self.save("a.npy", ramp((2, 5, 7), "u1"))
        result = self.holoflow("run", PASS, "--in", "a.npy", "--out", "x.npy", "--device", "cuda")
        if result.returncode == 0:
            self.assertNotIn("on CPU", result.stderr)
        else:
            self.assertRegex(result.stderr, "(?i)cuda|gpu|driver")
            self.assertFalse((self.folder / "x.npy").exists())


if __name__ == "__main__":
    unittest.main()
