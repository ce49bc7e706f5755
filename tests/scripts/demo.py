#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo: its program over every kind of example graph, and what its script shows of a build."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["HOLOFLOW_SOURCE_ROOT"])
BUILD = Path(os.environ["HOLOFLOW_BUILD_ROOT"])
GRAPHS = ROOT / "examples" / "graphs"

# A build with a hundred steps that makes a program for the demo to run.
NINJA = """#!/bin/sh
for percent in $(seq 0 100); do echo "$percent% built step"; done
mkdir -p "$2/examples"
printf '#!/bin/sh\\necho filtered' >"$2/examples/run_video"
chmod +x "$2/examples/run_video"
"""
MESON = """#!/bin/sh
mkdir -p "$2"
touch "$2/build.ninja"
"""
BROKEN_NINJA = """#!/bin/sh
echo "error: a semicolon is missing"
exit 1
"""


def have(element):
    return subprocess.run(["gst-inspect-1.0", "--exists", element], check=False).returncode == 0


class DemoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_video(self, graph, *video):
        return subprocess.run(
            [BUILD / "examples" / "run_video", graph, self.folder, *(video or [""]), "cpu"],
            capture_output=True, text=True, timeout=240, check=False)

    def film(self, frames, width=64, height=48):
        film = self.folder / "film.avi"
        subprocess.run(["gst-launch-1.0", "-q", "videotestsrc", f"num-buffers={frames}", "!",
                        f"video/x-raw,format=I420,width={width},height={height}", "!",
                        "jpegenc", "!", "avimux", "!", "filesink", f"location={film}"], check=True, timeout=60)
        return film

    def test_graphs_with_windows_succeed_and_report_the_speed_of_the_frames_that_enter(self):
        expected = {"difference": 249, "background": 235, "doppler": 6, "bandpass": 250}
        for graph, out in expected.items():
            with self.subTest(graph=graph):
                result = self.run_video(GRAPHS / f"{graph}.json")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stdout, rf"frames in:  250\nframes out: {out}\n")
                self.assertRegex(result.stdout, r"speed:      \d+\.\d frames in per second")
                self.assertEqual(len(re.findall("^wrote ", result.stdout, re.MULTILINE)), 3)

    def test_a_graph_that_gives_no_frame_fails_and_says_why(self):
        result = self.run_video(GRAPHS / "doppler.json", self.film(10))
        self.assertEqual(result.returncode, 1)
        self.assertIn("the graph gave no frame for 10 frames: its windows need more", result.stderr)

    @unittest.skipUnless(have("x264enc"), "no x264enc")
    def test_the_video_is_h264_that_every_player_shows(self):
        for width, height in ((64, 48), (63, 47)):
            with self.subTest(width=width, height=height):
                result = self.run_video(GRAPHS / "passthrough.json", self.film(5, width, height))
                self.assertEqual(result.returncode, 0, result.stderr)
                told = subprocess.run(["gst-discoverer-1.0", "-v", self.folder / "after.mp4"],
                                      capture_output=True, text=True, check=True, timeout=60).stdout
                self.assertRegex(told, r"profile=\(string\)(high|main|constrained-baseline),")
                self.assertIn("chroma-format=(string)4:2:0", told)

    def script(self, ninja):
        """What demo.sh prints with programs that only pretend to build."""
        for name, text in (("ninja", ninja), ("meson", MESON)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        for name in ("examples", "tests"):
            (self.folder / name).mkdir()
        shutil.copy(ROOT / "examples" / "demo.sh", self.folder / "examples")
        (self.folder / "tests" / "setup.sh").symlink_to("/bin/true")
        return subprocess.run(
            [self.folder / "examples" / "demo.sh"], capture_output=True, text=True, timeout=60,
            check=False, env=dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"))

    def test_the_script_shows_how_far_the_build_is(self):
        result = self.script(NINJA)
        self.assertEqual(result.returncode, 0, result.stderr)
        shown = re.findall(r"^(\d+)% built$", result.stdout, re.MULTILINE)
        self.assertEqual(shown, [str(tenth) for tenth in range(10, 101, 10)])
        self.assertIn("filtered", result.stdout)

    def test_the_script_shows_why_a_build_fails(self):
        result = self.script(BROKEN_NINJA)
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: a semicolon is missing", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
