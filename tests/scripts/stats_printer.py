#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""examples/print_stats.py: a pipeline that it cannot look into ends in a sentence."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

PRINTER = Path(os.environ["HOLOFLOW_SOURCE_ROOT"]) / "examples" / "print_stats.py"
SKIPPED = 77

try:
    import gi
    gi.require_version("Gst", "1.0")
except (ImportError, ValueError):
    print("skipped: python3-gi or gir1.2-gstreamer-1.0 is not installed")
    sys.exit(SKIPPED)


class PrintStats(unittest.TestCase):
    def run_printer(self, *arguments):
        return subprocess.run([PRINTER, *arguments], capture_output=True, text=True, timeout=60, check=False)

    def refuse(self, pipeline, sentence):
        result = self.run_printer(*pipeline.split())
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, f"print_stats.py: {sentence}\n")

    def test_without_an_element_of_that_name_it_says_so(self):
        for pipeline in ("videotestsrc is-live=true ! holoflowbin graph=copy ! fakesink", "videotestsrc ! fakesink",
                         "fakesink"):
            self.refuse(pipeline, "expected an element with name=graph in the pipeline, got none; write holoflowbin "
                        "name=graph graph=…")

    def test_another_element_of_that_name_is_refused(self):
        self.refuse("videotestsrc ! fakesink name=graph", "expected holoflowbin as the element with name=graph, got "
                    "fakesink; give that name to holoflowbin")

    def test_no_pipeline_at_all_is_refused(self):
        self.refuse("", "expected a pipeline as for gst-launch-1.0, got nothing")
        self.refuse("nowhere ! fakesink", 'no element "nowhere"')

    def test_stats_are_printed(self):
        result = self.run_printer(*"videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8 ! holoflowbin name=graph "
                                  "graph=copy ! fakesink".split())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("'in': 3", result.stdout)


if __name__ == "__main__":
    unittest.main()
