#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a pipeline, written as for gst-launch-1.0, and prints the stats of its element "graph" every second."""
import pprint
import sys

import gi
gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst


def to_dict(structure):
    names = [structure.nth_field_name(i) for i in range(structure.n_fields())]
    values = [structure.get_value(name) for name in names]
    return {name: to_dict(value) if isinstance(value, Gst.Structure) else value for name, value in zip(names, values)}


def start(arguments):
    """The pipeline and its element "graph"; a sentence where there is none."""
    try:
        pipeline = Gst.parse_launchv(arguments)
    except GLib.Error as error:
        sys.exit(f"print_stats.py: {error.message}")
    element = pipeline.get_by_name("graph") if isinstance(pipeline, Gst.Bin) else None
    if element is None:
        sys.exit("print_stats.py: expected an element with name=graph in the pipeline, got none; "
                 "write holoflowbin name=graph graph=…")
    if element.get_factory().get_name() != "holoflowbin":
        sys.exit("print_stats.py: expected holoflowbin as the element with name=graph, got "
                 f"{element.get_factory().get_name()}; give that name to holoflowbin")
    return pipeline, element


Gst.init(None)
if len(sys.argv) == 1:
    sys.exit("print_stats.py: expected a pipeline as for gst-launch-1.0, got nothing")
pipeline, graph = start(sys.argv[1:])
pipeline.set_state(Gst.State.PLAYING)
message = None
while message is None:
    message = pipeline.get_bus().timed_pop_filtered(Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pprint.pprint(to_dict(graph.get_property("stats")), width=110, sort_dicts=False)
pipeline.set_state(Gst.State.NULL)
if message.type == Gst.MessageType.ERROR:
    sys.exit(message.parse_error().gerror.message)
