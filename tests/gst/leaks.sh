#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs pipelines under GStreamer's leaks tracer: nothing of the element may be alive at the end.
# Exit status 77: gst-launch-1.0 or the tracer is missing.
set -eu

command -v gst-launch-1.0 >/dev/null || exit 77
gst-inspect-1.0 coretracers >/dev/null 2>&1 || exit 77

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0

# graph, number of buffers, whether the pipeline ends or fails
check() {
  GST_DEBUG_NO_COLOR=1 GST_DEBUG=GST_TRACER:7 \
    GST_TRACERS='leaks(filters="GstBuffer,GstCaps,GstEvent,GstQuery,GstPad,GstElement,GstSample")' \
    gst-launch-1.0 -q videotestsrc num-buffers="$2" \
    ! video/x-raw,format=GRAY8,width=33,height=7,framerate=1000/1 \
    ! holoflowbin graph="$1" ! fakesink sync=true >"$log" 2>&1 || [ "$3" = fails ]
  if ! grep -q 'object-alive.class' "$log"; then
    echo "the tracer did not run with: $1"
    cat "$log"
    failed=1
  fi
  if grep 'object-alive, type-name=(string)[A-Z]' "$log"; then
    echo "alive after: $1"
    failed=1
  fi
}

check 'conversion target=F32 ! sqrt ! batchqueue ! conversion target=U8' 20 ends
check 'copy' 0 ends
check 'no/such/file.json' 5 fails
check 'copyy' 5 fails
exit $failed
