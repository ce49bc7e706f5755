#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of strangers: each is read whole and equal to NumPy, or a sentence says what was left and why."""
import itertools
import json
import os
import struct
import subprocess
import threading
import unittest

from command import TOOL, needed

np = needed("numpy")
from frames import PASS, RunTest, ramp  # noqa: E402 (needs NumPy)
from images import animated_png, png_bytes, read_tiff, tiff_bytes, tiff_stack  # noqa: E402

OTHER_TYPES = ("i1", "i2", "i4", "i8", "u4", "u8", "f8")  # become F32
SHAPED = json.dumps({"shape": ["COUNT", 5, 7]}).replace("{", "{{").replace("}", "}}").replace('"COUNT"', "{}")
OME = ('<?xml version="1.0"?><OME><Image><Pixels DimensionOrder="XYZCT" SizeX="7" SizeY="5" SizeZ="1" SizeC="1" '
       'SizeT="{}"/></Image></OME>')


def numbers(shape, dtype):
    """With both signs where the type has one; not all are exact as F32 where it has more than 24 bits."""
    array = ramp(shape, "u8").astype("i8")
    if dtype[0] == "f":
        return (array / 7).astype(dtype)
    bits = 8 * int(dtype[1]) - (dtype[0] == "i")
    return ((array * 77777777777 % 2**min(bits, 62)) * (-1 if dtype[0] == "i" else 1)).astype(dtype)


class FilesTest(RunTest):
    def read(self, name, *options, notes=()):
        """The frames that `run` reads; every line before the summary is expected."""
        self.run_graph(PASS, name, "read.npy", *options)
        self.assertEqual(len(self.notes), len(notes), self.notes)
        for line, note in zip(self.notes, notes):
            self.assertIn(note, line)
        return self.load("read.npy")

    def refuse_part(self, name, sentence, part):
        """Without --partial nothing is written; with it, what can be read is."""
        self.refuse(PASS, name, "read.npy", sentence, "--partial")
        self.assert_same(self.read(name, "--partial", notes=(sentence,)), part)
        (self.folder / "read.npy").unlink()


class WholeFiles(FilesTest):
    def test_planes_behind_one_directory_are_frames(self):
        for dtype, tail, order in itertools.product(("u1", "u2", "f4", "i2"), ((), (3,)), "<>"):
            pages = ramp((5, 5, 7, *tail), dtype)
            self.write("a.tif", tiff_stack(pages, order))
            expected = pages.astype("f4") if dtype == "i2" else pages
            self.assert_same(self.read("a.tif"), expected)
        pages = ramp((5, 5, 7), "u2")
        self.write("a.tif", tiff_stack(pages, description=SHAPED))
        self.assert_same(self.read("a.tif"), pages)

    def test_planes_that_are_cut_off_are_reported(self):
        pages = ramp((5, 5, 7), "u2")
        self.write("a.tif", tiff_stack(pages)[:-1])
        self.refuse_part("a.tif", "ImageJ's description counts 5 images, the file holds 4 whole ones", pages[:4])

    def test_descriptions_that_count_more_pages_are_reported(self):
        pages = ramp((2, 5, 7), "u2")
        for description, program in (("ImageJ=1.53a\nimages=5\n", "ImageJ"), (SHAPED.format(5), "tifffile")):
            self.write("a.tif", tiff_bytes(pages, description=description))
            self.refuse_part("a.tif", f"{program}'s description counts 5 images, the file holds 2", pages)
            self.write("b.tif", tiff_bytes(pages[:1], description=description))
            self.refuse_part("b.tif", f"{program}'s description counts 5 images, the file holds 1", pages[:1])
        self.write("a.tif", tiff_bytes(pages, description=OME.format(6)))  # the others are in other files
        self.assert_same(self.read("a.tif", notes=("OME's description counts 6 images, this file holds 2",)), pages)

    def test_chains_of_pages_that_break_off_are_reported(self):
        pages = ramp((3, 5, 7), "u1")
        data = tiff_bytes(pages)
        for cut in (1, 2, 4):
            self.write("a.tif", data[:-cut])
            self.refuse_part("a.tif", "page 4 cannot be reached, the file ends within the pointer", pages)
        for pointer, why in ((10**6, "the file ends before it"), (struct.unpack("<I", data[4:8])[0], "earlier page")):
            self.write("a.tif", data[:-4] + struct.pack("<I", pointer))
            self.refuse(PASS, "a.tif", "read.npy", "page 4 cannot be reached", why)

    def test_animated_pictures_are_reported(self):
        self.require_format(".png")
        pictures = ramp((3, 5, 7), "u1")
        self.write("a.png", animated_png(pictures))
        self.refuse_part("a.png", "an animated picture of 3 frames, of which only the first is read", pictures[:1])
        self.refuse(PASS, "a.png", "read.npy", "ffmpeg -i a.png frame-%04d.png")

    def test_pictures_one_after_the_other_are_frames(self):
        self.require_format(".png")
        pictures = ramp((3, 5, 7), "u2")
        data = b"".join(map(png_bytes, pictures))
        self.write("a.png", data)
        self.assert_same(self.read("a.png"), pictures)
        self.write("b.png", data + png_bytes(ramp((5, 8), "u2")))
        self.refuse(PASS, "b.png", "o.npy", "pictures that are all alike", "picture 4")
        self.write("c.png", data + b"more")
        self.refuse_part("c.png", "not read to its end: what follows picture 3 is not one", pictures)

    def test_arrays_one_after_the_other_are_frames(self):
        array = ramp((5, 5, 7), "u2")
        with open(self.folder / "a.npy", "wb") as file:
            np.save(file, array[:2])
            np.save(file, array[2:4].astype(">u2"))
            np.save(file, array[4])
        self.assert_same(self.read("a.npy"), array)
        data = (self.folder / "a.npy").read_bytes()
        self.write("b.npy", data + b"more")
        self.refuse_part("b.npy", "not read to its end: what follows its last array is not one", array)
        with open(self.folder / "a.npy", "ab") as file:
            np.save(file, array.astype("u1"))
        self.refuse_part("a.npy", "a further array of U8 [1, 5, 7]", array)
        self.write("c.npy", data[:-1])
        self.refuse(PASS, "c.npy", "read.npy", "the file is cut off")

    def test_a_look_at_a_file_does_not_ask_for_all_of_it(self):
        self.require_format(".png")
        self.write("a.png", animated_png(ramp((3, 5, 7), "u1")))
        self.assertIn("takes U8 [1, 5, 7]", self.good("check", "copy", "--like", "a.png"))


class Samples(FilesTest):
    def test_other_types_become_f32(self):
        for dtype, order in itertools.product(OTHER_TYPES, "<>"):
            array = numbers((3, 5, 7), dtype)
            expected = array.astype("f4")
            notes = () if (expected.astype("f8") == array).all() else ("samples were rounded to F32",)
            self.assertEqual(bool(notes), dtype[1] in "48")
            self.save("a.npy", array.astype(order + dtype))
            self.assert_same(self.read("a.npy", notes=notes), expected)
            self.write("a.tif", tiff_bytes(array, order))
            self.assert_same(self.read("a.tif", notes=notes), expected)

    def test_the_other_byte_order_and_double_complex(self):
        for dtype in ("u2", "f4", "c8"):
            array = ramp((3, 5, 7), dtype)
            self.save("a.npy", array.astype(">" + dtype))
            self.assert_same(self.read("a.npy"), array)
        array = ramp((3, 5, 7), "c8")
        self.save("a.npy", array.astype("c16"))
        self.assert_same(self.read("a.npy"), array)

    def test_grey_where_0_is_white(self):
        for dtype, order in itertools.product(("u1", "u2", "u4"), "<>"):
            pages = ramp((2, 5, 7), dtype)
            self.write("a.tif", tiff_bytes(pages, order, photometric=0))
            turned = np.iinfo(dtype).max - pages
            self.assert_same(self.read("a.tif", notes=("rounded",) if dtype == "u4" else ()),
                             turned.astype("f4") if dtype == "u4" else turned)
        self.write("a.tif", tiff_bytes(ramp((2, 5, 7), "f4"), photometric=0))
        self.refuse(PASS, "a.tif", "o.npy", "0 is black for float32, got grey where 0 is white")

    def test_tiles_and_planes(self):
        for tail, tile, planar, order, dtype in itertools.product(
                ((), (3,), (4,)), (None, (16, 16), (16, 32)), (False, True), "<>", ("u1", "u2", "f4", "i2")):
            pages = ramp((2, 21, 33, *tail), dtype)
            self.write("a.tif", tiff_bytes(pages, order, tile=tile, planar=planar))
            self.assert_same(self.read("a.tif"), pages.astype("f4") if dtype == "i2" else pages)

    def test_what_is_not_read_says_what_is_wrong_and_what_helps(self):
        grey, colours = ramp((1, 5, 7), "u1"), ramp((1, 5, 7, 3), "u1")
        for data, parts in (
                (tiff_bytes(grey, bits=12), ("got 12 bits without sign", "convert a.tif -depth 16 new.tif")),
                (tiff_bytes(grey, bits=1), ("got 1 bit without sign", "-depth 16")),
                (tiff_bytes(grey.astype("i1"), bits=12), ("got 12 bits with sign", "-depth 16")),
                (tiff_bytes(ramp((1, 5, 7), "f4"), bits=16), ("got float of 16 bits", "save them as float32")),
                (tiff_bytes(ramp((1, 5, 7), "c8")), ("got complex ones", "save them as .npy")),
                (tiff_bytes(grey, photometric=3), ("got colours of a palette", "-type TrueColor")),
                (tiff_bytes(colours, photometric=6), ("got YCbCr", "-colorspace sRGB")),
                (tiff_bytes(ramp((1, 5, 7, 4), "u1"), photometric=5), ("got CMYK", "-colorspace sRGB")),
                (tiff_bytes(ramp((1, 5, 7, 2), "u1")), ("1 sample for each pixel of grey, got 2", "-separate"))):
            self.write("a.tif", data)
            self.refuse(PASS, "a.tif", "o.npy", '"a.tif": expected', *parts)


class Series(FilesTest):
    def test_numbered_tiff_in_and_out(self):
        pages = ramp((12, 5, 7), "u2")
        self.save("in.npy", pages)
        self.run_graph(PASS, "in.npy", "t%04d.tif")
        self.assertEqual(sorted(path.name for path in self.folder.glob("t*")), [f"t{i:04}.tif" for i in range(12)])
        self.assert_same(read_tiff((self.folder / "t0003.tif").read_bytes())[0], pages[3])
        self.assert_same(self.read("t%04d.tif"), pages)
        self.write("u1.tif", tiff_bytes(pages[:5]))  # several pages in each
        self.write("u2.tif", tiff_bytes(pages[5:]))
        self.assert_same(self.read("u%d.tif"), pages)

    def test_series_start_with_the_lowest_number(self):
        pages = ramp((3, 5, 7), "u1")
        for i, page in enumerate(pages):
            self.write(f"t{i + 17:04}.tif", tiff_bytes([page]))
            self.write(f"r{i + 9}.raw", page.tobytes())
            self.save(f"n{i + 2}.npy", page)
        self.assert_same(self.read("t%04d.tif"), pages)
        self.assert_same(self.read("n%d.npy"), pages)
        self.assert_same(self.read("r%d.raw", "--caps", "video/x-raw,format=GRAY8,width=7,height=5"), pages)

    def test_losses_within_a_series_are_reported(self):
        pages = ramp((4, 5, 7), "u2")
        self.write("t1.tif", tiff_bytes(pages[:2]))
        self.write("t2.tif", tiff_stack(pages[2:])[:-1])
        # Known once the file is opened: nothing is written even so.
        self.refuse_part("t%d.tif", "counts 2 images, the file holds 1", pages[:3])
        self.refuse(PASS, "t%d.tif", "o.npy", "counts 2 images")


class RawFrames(FilesTest):
    CAPS = ("--caps", "video/x-raw,format=GRAY8,width=7,height=5")

    def test_headers_and_gaps_are_left_out(self):
        frames = ramp((4, 5, 7), "u1")
        for skip, gap, last_gap in itertools.product((0, 3, 35, 5000), (0, 1, 40, 5000), (False, True)):
            data = b"h" * skip + (b"g" * gap).join(frame.tobytes() for frame in frames) + b"g" * gap * last_gap
            self.write("in.raw", data)
            options = [*self.CAPS, *(("--skip", skip) if skip else ()), *(("--gap", f"input={gap}") if gap else ())]
            options = [str(option).replace("input=", "in=") for option in options]
            self.assert_same(self.read("in.raw", *options), frames)
            self.assertEqual(self.run_graph(PASS, "in.raw", "o.npy", *options), [4, 4])

    def test_headers_in_a_stream(self):
        frames = ramp((4, 5, 7), "u1")
        os.mkfifo(self.folder / "pipe")
        data = b"h" * 5000 + b"".join(frame.tobytes() + b"g" * 41 for frame in frames)
        writer = threading.Thread(target=lambda: (self.folder / "pipe").write_bytes(data))
        writer.start()
        self.assert_same(self.read("pipe", *self.CAPS, "--skip", "5000", "--gap", "41"), frames)
        writer.join()

    def test_wrong_bytes_are_errors(self):
        self.write("in.raw", bytes(70))
        self.save("in.npy", ramp((2, 5, 7), "u1"))
        for source, options, parts in (
                ("in.raw", (*self.CAPS, "--skip", "x"), ("--skip", 'at least 1, got "x" bytes')),
                ("in.raw", (*self.CAPS, "--skip", "1"), ("got 1 and 34 bytes", "--skip or --gap")),
                ("in.raw", (*self.CAPS, "--skip", "1", "--skip", "2"), ("--skip 2", "got a second")),
                ("in.raw", (*self.CAPS, "--skip", "100"), ("expected 100 bytes to leave out", "got 70")),
                ("in.raw", (*self.CAPS, "--gap", "7"), ("got 1 and 28 bytes",)),
                ("in.npy", ("--skip", "7"), ("--skip, --gap: expected raw frames", "got no --caps")),
                ("in.npy", (*self.CAPS, "--skip", "7"), ("expected raw frames for --skip and --gap",)),
                ("in.raw", (*self.CAPS, "--gap", "inn=7"), ("--gap inn=7", 'got "inn"; did you mean "in"?'))):
            self.refuse(PASS, source, "o.npy", *parts, options=options)

    def test_movies_and_other_formats_are_no_raw_frames(self):
        for name in ("movie.mp4", "movie.MKV"):
            self.write(name, bytes(70))
            for options in ((), self.CAPS):
                self.refuse(PASS, name, "o.npy", "got a movie; holoflowbin plays movies: gst-launch-1.0 filesrc "
                            f"location={name} ! decodebin ! videoconvert ! holoflowbin graph=", options=options)
        self.write("a.jpg", bytes(70))
        self.refuse(PASS, "a.jpg", "o.npy", "got .jpg, a format that is not read; convert it")


class StandardStreams(FilesTest):
    def pipe(self, data, *arguments):
        result = subprocess.run([TOOL, "run", PASS, *arguments], cwd=self.folder, input=data, capture_output=True,
                                timeout=60, check=False)
        return result.returncode, result.stdout, result.stderr.decode()

    def test_npy_by_its_magic_and_else_raw(self):
        frames = ramp((4, 5, 7), "u1")
        self.save("in.npy", frames)
        data = (self.folder / "in.npy").read_bytes()
        self.assertEqual(self.pipe(data, "--in", "-", "--out", "-")[:2], (0, frames.tobytes()))
        self.assertEqual(self.pipe(data, "--in", "-", "--out", "-", *RawFrames.CAPS)[:2], (0, frames.tobytes()))
        self.assertEqual(self.pipe(frames.tobytes(), "--in", "-", "--out", "o.npy", *RawFrames.CAPS)[0], 0)
        self.assert_same(self.load("o.npy"), frames)
        self.assertFalse((self.folder / "-").exists())
        self.assertEqual(self.pipe(data + data, "--in", "-", "--out", "-")[:2], (0, 2 * frames.tobytes()))

    def test_a_file_as_standard_input_is_read_from_where_it_stands(self):
        frames = ramp((4, 5, 7), "u1")
        self.write("in.raw", b"gone" + frames.tobytes())
        with open(self.folder / "in.raw", "rb") as file:
            os.lseek(file.fileno(), 4, os.SEEK_SET)
            subprocess.run([TOOL, "run", PASS, "--in", "-", "--out", "o.npy", *RawFrames.CAPS], cwd=self.folder,
                           stdin=file, timeout=60, check=True, capture_output=True)
        self.assert_same(self.load("o.npy"), frames)

    def test_what_a_stream_cannot_be(self):
        self.assertIn("name its file", self.pipe(png_bytes(ramp((5, 7), "u1")), "--in", "-", "--out", "o.npy")[2])
        self.assertIn("say with --caps", self.pipe(b"x" * 35, "--in", "-", "--out", "o.npy")[2])
        status, _, errors = self.pipe(b"x" * 36, "--in", "-", "--out", "o.npy", *RawFrames.CAPS)
        self.assertEqual(status, 1)
        self.assertIn("got 1 and 1 bytes", errors)

    def test_a_file_may_be_called_minus(self):
        frames = ramp((4, 5, 7), "u1")
        self.save("in.npy", frames)
        self.run_graph(PASS, "in.npy", "./-")
        self.assertEqual((self.folder / "-").read_bytes(), frames.tobytes())
        status, out, _ = self.pipe(b"", "--in", "./-", "--out", "-", *RawFrames.CAPS)
        self.assertEqual((status, out), (0, frames.tobytes()))


class Losses(FilesTest):
    WINDOW = "batchqueue output_size={0} output_stride={0} ! mean axis=0 keepdims=true"

    def test_a_window_longer_than_the_stack_is_an_error(self):
        self.save("in.npy", ramp((5, 5, 7), "u1"))
        for name in ("o.npy", "o.tif", "o.raw", "o%d.tif"):
            lines = self.bad("run", self.WINDOW.format(8), "--in", "in.npy", "--out", name)
            self.assertEqual(len(lines), 2, lines)  # losses come first
            self.assertIn('5 frames dropped by queues: the last window of node "', lines[0])
            self.assertIn('node "output" (Output): expected a frame to write, the graph gave none for 5 frames in',
                          lines[1])
            self.assertEqual([path.name for path in self.folder.iterdir()], ["in.npy"])

    def test_losses_come_before_the_summary(self):
        self.save("in.npy", ramp((7, 5, 7), "u1"))
        self.run_graph(self.WINDOW.format(3), "in.npy", "o.npy")
        self.assertEqual(len(self.notes), 1)
        self.assertIn("1 frame dropped by queues: the last window", self.notes[0])

    def test_inputs_of_unequal_length_are_an_error(self):
        graph = json.dumps({"nodes": {"a": {"type": "Input"}, "b": {"type": "Input"}, "sum": {"type": "Add"},
                                      "o": {"type": "Output"}},
                            "edges": ["a -> sum", "b -> sum:1", "sum -> o"]})
        long = ramp((40, 5, 7), "f4")
        for frames in (1, 2, 3, 38, 39):
            self.save("long.npy", long)
            self.save("short.npy", long[:frames])
            for first, second in (("long", "short"), ("short", "long")):
                arguments = ("run", graph, "--in", f"a={first}.npy", "--in", f"b={second}.npy", "--out", "o.npy")
                self.assert_line(self.bad(*arguments), "frame", "--partial goes on without them")
                self.assertFalse((self.folder / "o.npy").exists())
                self.good(*arguments, "--partial")
                self.assert_same(self.load("o.npy"), 2 * long[:frames])
                (self.folder / "o.npy").unlink()
        self.good("run", graph, "--in", "a=long.npy", "--in", "b=long.npy", "--out", "o.npy")


class Batch(FilesTest):
    MEAN = "mean axis=0 keepdims=true"

    def test_all_takes_the_whole_file_as_one_window(self):
        frames = ramp((9, 5, 7), "f4")
        expected = frames.mean(axis=0, keepdims=True, dtype="f8")
        self.save("a.npy", frames)
        self.write("a.tif", tiff_bytes(frames))
        for i, frame in enumerate(frames):
            self.write(f"t{i}.tif", tiff_bytes([frame]))
        for name in ("a.npy", "a.tif", "t%d.tif"):
            self.assertEqual(self.run_graph(self.MEAN, name, "o.npy", "--batch", "all"), [9, 1])
            np.testing.assert_allclose(self.load("o.npy"), expected, rtol=1e-5, atol=1e-3)
        self.run_graph(self.MEAN, "a.npy", "o.npy", "--batch", "input=all")
        np.testing.assert_allclose(self.load("o.npy"), expected, rtol=1e-5, atol=1e-3)

    def test_inputs_of_sub_graphs_take_it_too(self):
        self.save("a.npy", ramp((9, 5, 7), "f4"))
        graph = json.dumps({
            "nodes": {"source": {"type": "Graph", "params": {"graph": "source"}},
                      "mean": {"type": "Mean", "params": {"axis": 0, "keepdims": True}}, "o": {"type": "Output"}},
            "edges": ["source -> mean", "mean -> o"],
            "graphs": {"source": {"nodes": {"in": {"type": "Input"}}, "edges": [], "outputs": ["in"]}}})
        self.assertEqual(self.run_graph(graph, "a.npy", "o.npy", "--batch", "source/in=all"), [9, 1])

    def test_what_it_cannot_take_is_an_error(self):
        self.save("a.npy", ramp((9, 5, 7), "f4"))
        for value, parts in (("4", ("--batch 4: expected all", 'the param "batch" of the Input node')),
                             ("inptu=all", ('got "inptu"; did you mean "input"?',))):
            self.refuse(self.MEAN, "a.npy", "o.npy", *parts, options=("--batch", value))
        result = subprocess.run([TOOL, "run", self.MEAN, "--in", "-", "--out", "o.npy", "--batch", "all", "--caps",
                                 "video/x-raw,format=GRAY8,width=7,height=5"], cwd=self.folder, input=b"x" * 35,
                                capture_output=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected a file whose frames can be counted for --batch all", result.stderr.decode())


if __name__ == "__main__":
    unittest.main()
