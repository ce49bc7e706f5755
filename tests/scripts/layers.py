#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Includes go one way, and docs/architecture.md shows the layers as they are.

A file may include headers of its own layer and of those below. The layer of most files is that of
their folder; EXCEPTIONS names the others. What belongs to no library, tests and examples, may
include everything.
"""
import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ["HOLOFLOW_SOURCE_ROOT"])
PUBLIC = "holoflow/include/"
# From the ground up; in docs/architecture.md as a list in this order.
LAYERS = ["core", "ground", "tasks", "compiler", "runtime", "library", "programs"]
FOLDERS = {
    "holoflow/core/": "core",
    "holoflow/media/": "ground",
    "holoflow/device/": "ground",
    "holoflow/tasks/": "tasks",
    "holoflow/compiler/": "compiler",
    "holoflow/runtime/": "runtime",
    "holoflow/tools/": "programs",
    "gst/": "programs",
    PUBLIC + "curaii/": "core",  # handles that tasks are given
    PUBLIC + "holoflow_event/": "core",
    PUBLIC + "holoflow/core/": "core",
    PUBLIC + "holoflow/media/": "ground",
    PUBLIC + "holoflow/runtime/": "runtime",
}
EXCEPTIONS = {
    # What tasks, compiler and runtime agree on.
    PUBLIC + "holoflow/runtime/device.hh": "ground",
    PUBLIC + "holoflow/runtime/device_rates.hh": "ground",
    PUBLIC + "holoflow/runtime/recorded_work.hh": "ground",
    PUBLIC + "holoflow/runtime/rim.hh": "ground",
    # What a compile takes and gives.
    PUBLIC + "holoflow/runtime/compile_trace.hh": "compiler",
    PUBLIC + "holoflow/runtime/compiler.hh": "compiler",
    PUBLIC + "holoflow/runtime/graph_display.hh": "compiler",
    PUBLIC + "holoflow/runtime/graph_exec.hh": "compiler",
    PUBLIC + "holoflow/runtime/stream_shape.hh": "compiler",
    # What knows all task types.
    PUBLIC + "holoflow/builtin_tasks.hh": "library",
    PUBLIC + "holoflow/runtime/graph_runner.hh": "library",
    "holoflow/device/cuda_module.cc": "library",
    "holoflow/runtime/graph_runner.cc": "library",
    "holoflow/tasks/builtin_tasks.cc": "library",
    "holoflow/tasks/builtin_tasks_cuda.cc": "library",
    "holoflow/tasks/builtin_tasks_cuda.hh": "library",
}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def layer_of(path):
    if path in EXCEPTIONS:
        return LAYERS.index(EXCEPTIONS[path])
    for folder, layer in FOLDERS.items():
        if path.startswith(folder):
            return LAYERS.index(layer)
    sys.exit(f"{path} is in no folder of the table")


def find(include, source):
    for base in (PUBLIC, "", str(Path(source).parent) + "/"):
        if (ROOT / (base + include)).is_file():
            return base + include
    return None  # somebody else's


def main():
    faults = []
    sources = [path.relative_to(ROOT).as_posix()
               for folder in ("holoflow", "gst") for path in sorted((ROOT / folder).rglob("*"))
               if path.suffix in (".cc", ".hh", ".h", ".cu", ".cuh")]
    for source in sources:
        layer = layer_of(source)
        for include in INCLUDE.findall((ROOT / source).read_text()):
            header = find(include, source)
            if header is None:
                continue
            if layer_of(header) > layer:
                faults.append(f"{source}: layer {LAYERS[layer]}, includes {header} of layer "
                              f"{LAYERS[layer_of(header)]}")
            if source.startswith("gst/") and not header.startswith((PUBLIC, "gst/")):
                faults.append(f"{source}: includes {header}, which is not installed")
            if source.startswith(PUBLIC) and not header.startswith(PUBLIC):
                faults.append(f"{source}: is installed, includes {header}, which is not")
    shown = re.findall(r"^\| `?(\w+)`? \|", (ROOT / "docs/architecture.md").read_text(), re.M)
    order = [name for name in shown if name in LAYERS]
    if order != LAYERS:
        faults.append(f"docs/architecture.md: expected a table with the layers {LAYERS} from the "
                      f"ground up, got {order}")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(sources)} files, {len(faults)} faults")
    return 1 if faults or len(sources) < 100 else 0


sys.exit(main())
