#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command loads nothing of CUDA, and no GStreamer, unless it is asked for a GPU.

The dynamic loader's own log tells what was loaded.
"""
import re
import unittest

from command import GREY, ROOT, CommandTest

FOREIGN = re.compile(r"lib(cuda|cudart|cufft|nvrtc|nvidia|holoflow-cuda|gst|glib|gobject)[-a-z0-9_.]*\.so")
BANDPASS = ROOT / "examples" / "graphs" / "bandpass.json"


class NoCuda(CommandTest):
    def loaded(self, *arguments, good=True):
        """Names of all libraries that were looked at."""
        log = self.folder / "loader"
        result = self.holoflow(*arguments, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(log)})
        self.assertEqual(result.returncode == 0, good, result.stderr)
        text = "".join(path.read_text(errors="replace") for path in self.folder.glob("loader.*"))
        self.assertIn("libholoflow.so", text, "the loader wrote no log")
        for path in self.folder.glob("loader.*"):
            path.unlink()
        return text

    def assert_clean(self, *arguments, **options):
        found = FOREIGN.search(self.loaded(*arguments, **options))
        self.assertIsNone(found, f"{arguments} loads {found and found.group()}")

    def test_check_and_plan_load_nothing(self):
        for command in ("check", "plan"):
            for device in ("auto", "cpu"):
                self.assert_clean(command, BANDPASS, "--caps", GREY, "--device", device)
        self.assert_clean("check", "fft4", good=False)

    def test_a_graph_that_uses_a_gpu_is_checked_without(self):
        graph = "upload ! memcpy target=Device ! fft2 ! download"
        self.assert_clean("check", graph, "--caps", 'application/x-holoflow-tensor,dtype=F32,shape="1,8,8"',
                          "--device", "cuda")

    def test_tasks_and_a_run_on_the_cpu_load_nothing(self):
        self.assert_clean("tasks")
        self.assert_clean("tasks", "--schema")
        self.write("in.raw", bytes(48 * 3))
        self.assert_clean("run", BANDPASS, "--in", "in.raw", "--out", "out.raw", "--caps", GREY, "--device", "cpu")


if __name__ == "__main__":
    unittest.main()
