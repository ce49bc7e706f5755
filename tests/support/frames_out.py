#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many frames a graph gives for so many frames in, worked out from its queues and windows.

    frames_out.py GRAPH FRAMES

GRAPH is a graph file or a chain. This is arithmetic of its own, not the compiler's, so that it can
be compared with what comes out. A node type or param that it does not know is an error.
"""
import json
import sys
from pathlib import Path

# Tensors and frames per tensor stay as they are.
STEADY = {"output", "upload", "download", "conversion", "filter2d", "normalize", "affine", "abs",
          "abssquared", "sqrt", "log1p", "subtract", "fft2", "fftshift", "causalslidingaverage"}


def sliced(params, frames):
    first = params["slices"][0] if params.get("slices") else {}
    return len(range(frames)[slice(first.get("start"), first.get("stop"), first.get("step"))])


def after(kind, params, tensors, frames):
    """Tensors and frames per tensor that a node gives for those that it gets."""
    if kind == "batchqueue":
        size = params.get("output_size", 1)
        stride = params.get("output_stride") or size
        total = tensors * frames
        return (total - size) // stride + 1 if total >= size else 0, size
    if kind == "slidingaverage":
        return max(tensors * frames - params["window_size"] + 1, 0), 1
    if kind == "slice":
        return tensors, sliced(params, frames)
    if kind == "rfft" and params.get("axis") == 0:
        return tensors, frames // 2 + 1
    if kind == "mean" and params.get("axis") == 0 and params.get("keepdims"):
        return tensors, 1
    if kind in STEADY:
        return tensors, frames
    raise ValueError(f"node type {kind} with {params} is not known to frames_out.py")


def read_chain(text):
    """Nodes and edges of a chain; its params do not matter here but for integers."""
    nodes, edges, last = {"input": ("input", {})}, [], "input"
    for number, part in enumerate([*text.split("!"), "output"]):
        kind, *settings = part.split()
        params = dict(setting.split("=") for setting in settings)
        params = {key: int(value) if value.isdigit() else value for key, value in params.items()}
        name = f"{number}"
        nodes[name] = (kind.lower(), params)
        edges.append((last, name))
        last = name
    return nodes, edges


def read_file(path):
    graph = json.loads(path.read_text())
    nodes = {name: (node["type"].lower(), node.get("params", {}))
             for name, node in graph["nodes"].items()}
    edges = [tuple(end.strip().split(":")[0] for end in edge.split("->")) if isinstance(edge, str)
             else (edge["from"], edge["to"]) for edge in graph["edges"]]
    return nodes, edges


def frames_out(graph, frames_in):
    nodes, edges = read_chain(graph) if "!" in graph else read_file(Path(graph))
    counts = {name: (frames_in, 1) for name, (kind, _) in nodes.items() if kind == "input"}
    while len(counts) < len(nodes):
        for name, (kind, params) in nodes.items():
            sources = [source for source, target in edges if target == name]
            if name in counts or not all(source in counts for source in sources):
                continue
            given = {counts[source] for source in sources}
            if len(given) != 1:
                raise ValueError(f"node {name} gets tensors at different rates: {sorted(given)}")
            counts[name] = after(kind, params, *given.pop())
    tensors, frames = next(counts[name] for name, (kind, _) in nodes.items() if kind == "output")
    if frames != 1:
        raise ValueError(f"{frames} frames in a tensor at the output, some of which may not be new")
    return tensors


def main():
    try:
        print(frames_out(sys.argv[1], int(sys.argv[2])))
    except ValueError as error:
        sys.exit(f"frames_out: {sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
