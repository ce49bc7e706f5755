#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a pipeline, written as for gst-launch-1.0, and prints the stats of its element "graph" every second."""
import pprint
import sys

import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst


def to_dict(structure):
    names = [structure.nth_field_name(i) for i in range(structure.n_fields())]
    values = [structure.get_value(name) for name in names]
    return {name: to_dict(value) if isinstance(value, Gst.Structure) else value for name, value in zip(names, values)}


Gst.init(None)
pipeline = Gst.parse_launchv(sys.argv[1:])
pipeline.set_state(Gst.State.PLAYING)
message = None
while message is None:
    message = pipeline.get_bus().timed_pop_filtered(Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pprint.pprint(to_dict(pipeline.get_by_name("graph").get_property("stats")), width=110, sort_dicts=False)
pipeline.set_state(Gst.State.NULL)
if message.type == Gst.MessageType.ERROR:
    sys.exit(message.parse_error().gerror.message)
