#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ctrl-C on `gst-launch-1.0 -e` loses nothing that entered the graph.

A tee writes every frame to one file directly and to another through a graph with two queues; the
pipeline is interrupted once the second file holds a random number of frames. Both files must be equal.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FRAME = 64 * 48
GRAPH = "upload ! batchqueue target_capacity=8 ! affine ! conversion target=U8 ! batchqueue target_capacity=8 ! download"


def interrupted_run(folder, frames_before):
    direct, through = folder / "direct", folder / "through"
    for path in (direct, through):
        path.write_bytes(b"")
    pipeline = subprocess.Popen(
        ["gst-launch-1.0", "-q", "-e", "videotestsrc", "pattern=snow", "!",
         "video/x-raw,format=GRAY8,width=64,height=48", "!", "tee", "name=t",
         "t.", "!", "queue", "!", "filesink", f"location={direct}", "buffer-mode=unbuffered",
         "t.", "!", "queue", "!", "holoflowbin", "device=cpu", f"graph={GRAPH}", "!", "filesink",
         f"location={through}", "buffer-mode=unbuffered"])
    deadline = time.monotonic() + 60
    while through.stat().st_size < frames_before * FRAME:
        assert pipeline.poll() is None, "the pipeline ended by itself"
        assert time.monotonic() < deadline, "the pipeline does not run"
        os.sched_yield()
    pipeline.send_signal(signal.SIGINT)
    assert pipeline.wait(timeout=60) == 0, "the pipeline failed"
    return direct.read_bytes(), through.read_bytes()


def main():
    random.seed(3)
    with tempfile.TemporaryDirectory() as name:
        for round_number in range(8):
            wanted = random.randrange(1, 400)
            direct, through = interrupted_run(Path(name), wanted)
            assert len(through) >= wanted * FRAME
            assert direct == through, (f"round {round_number}: {len(direct) // FRAME} frames entered, "
                                       f"{len(through) // FRAME} came out")
            print(f"interrupted behind {wanted} frames: {len(through) // FRAME} in, as many out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
