#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""holoflow doctor: one line for each thing, and what to do about those that are missing or broken."""
import os
import unittest

from command import CommandTest


class Doctor(CommandTest):
    def lines(self, status=0, **env):
        result = self.holoflow("doctor", env=env)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout.splitlines()

    def line(self, lines, what):
        found = [line for line in lines if line[9:].startswith(what + ":")]
        self.assertEqual(len(found), 1, (what, lines))
        return found[0]

    def test_every_line_has_a_state_and_missing_things_a_remedy(self):
        lines = self.lines(HOLOFLOW_MODULE_PATH="")
        for line in lines:
            self.assertRegex(line, r"^(ok|missing) +\S")
            if line.startswith("missing") and " GPU:" not in line:
                self.assertRegex(line, "install|build|name the folder", line)
        for what in ("library", "PNG files", "TIFF files", "NVIDIA driver", "CUDA module", "GPU", "cuFFT",
                     "GStreamer", "dot", "gst-discoverer-1.0"):
            self.line(lines, what)
        self.assertTrue(self.line(lines, "library").startswith("ok"))

    def test_without_other_programs(self):
        lines = self.lines(PATH="/nonexistent")
        for what, package in (("GStreamer", "gstreamer1.0-tools"), ("dot", "graphviz"),
                              ("gst-discoverer-1.0", "gstreamer1.0-plugins-base-apps")):
            self.assertTrue(self.line(lines, what).startswith("missing"))
            self.assertIn(package, self.line(lines, what))

    def test_a_foreign_cuda_module_is_broken(self):
        # Only where no module of this build is found first.
        if self.line(self.lines(HOLOFLOW_MODULE_PATH=""), "CUDA module").startswith("ok"):
            self.skipTest("this build has a CUDA module")
        self.write("libholoflow-cuda.so", os.urandom(200))
        line = self.line(self.lines(status=1, HOLOFLOW_MODULE_PATH=str(self.folder)), "CUDA module")
        self.assertTrue(line.startswith("broken"))
        self.assertIn(str(self.folder), line)

    def test_elements_are_looked_for_one_by_one(self):
        lines = self.lines()
        if self.line(lines, "GStreamer").startswith("missing"):
            self.skipTest("no GStreamer")
        for element in ("decodebin", "x264enc", "vp8enc", "openh264enc", "nvh264enc", "avenc_ffv1", "holoflowbin"):
            self.line(lines, f"element {element}")


if __name__ == "__main__":
    unittest.main()
