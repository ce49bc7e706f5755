#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The band-pass example over a real video against an independent NumPy computation.

Every frame must come out, in order, and agree within one grey level at 99.9 % of the pixels, with and
without videoconvert in front. Needs a video: HOLOFLOW_TEST_DATA/bikes.mp4, else ../shared/data beside
the source tree; skipped where there is none.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(os.environ.get("HOLOFLOW_SOURCE_ROOT", Path(__file__).resolve().parents[2]))
DATA = Path(os.environ.get("HOLOFLOW_TEST_DATA", ROOT.parent / "shared" / "data"))
VIDEO = DATA / "bikes.mp4"
GRAPH = ROOT / "examples" / "graphs" / "bandpass.json"
WIDTH, HEIGHT, FRAMES = 640, 272, 250


def launch(*elements):
    subprocess.run(["gst-launch-1.0", "-q", *elements], check=True, timeout=240)


def frames_of(path):
    data = np.fromfile(path, dtype=np.uint8)
    assert data.size == FRAMES * WIDTH * HEIGHT, f"{data.size / (WIDTH * HEIGHT)} frames, not {FRAMES}"
    return data.reshape(FRAMES, HEIGHT, WIDTH)


def step(distance, radius, width):
    """1 inside the radius, 0 outside; a quarter of a cosine of that width between."""
    inside = (distance < radius).astype(np.float64)
    if width <= 0:
        return inside
    edge = (distance >= radius) & (distance < radius + width)
    return np.where(edge, np.cos(np.pi / 2 * (distance - radius) / width), inside)


def expected(frame, params):
    rows = np.fft.fftfreq(HEIGHT, 1 / HEIGHT)[:, None]
    columns = np.fft.fftfreq(WIDTH, 1 / WIDTH)[None, :]
    distance = np.hypot(rows, columns)
    mask = step(distance, params["r_outer"], params["s_outer"]) * (
        1 - step(distance, params["r_inner"], params["s_inner"]))
    filtered = np.fft.ifft2(np.fft.fft2(frame.astype(np.float64)) * mask).real
    low, high = filtered.min(), filtered.max()
    normal = (filtered - low) / (high - low + 1e-7)
    low, high = normal.min(), normal.max()
    return np.trunc((normal - low) * 255 / (high - low) + 0.5)


def main():
    if not VIDEO.exists():
        print(f"skipped: no {VIDEO.name} (set HOLOFLOW_TEST_DATA)")
        return 77
    params = json.loads(GRAPH.read_text())["nodes"]["band"]["params"]
    with tempfile.TemporaryDirectory() as folder:
        grey, direct, converted = (os.path.join(folder, name) for name in ("grey", "direct", "conv"))
        source = ["filesrc", f"location={VIDEO}", "!", "decodebin", "!"]
        launch(*source, "videoconvert", "!", "video/x-raw,format=GRAY8", "!", "filesink", f"location={grey}")
        element = ["holoflowbin", "device=cpu", f"graph={GRAPH}", "!", "filesink"]
        launch(*source, *element, f"location={direct}")
        launch(*source, "videoconvert", "!", *element, f"location={converted}")
        assert Path(direct).read_bytes() == Path(converted).read_bytes(), "videoconvert changed the result"
        worst = 1.0
        for index, (before, after) in enumerate(zip(frames_of(grey), frames_of(direct))):
            close = np.mean(np.abs(after - expected(before, params)) <= 1)
            assert close >= 0.999, f"frame {index}: only {close:.2%} of the pixels agree"
            worst = min(worst, close)
        print(f"{FRAMES} frames agree; worst frame: {worst:.4%} of the pixels within one grey level")
    return 0


if __name__ == "__main__":
    sys.exit(main())
