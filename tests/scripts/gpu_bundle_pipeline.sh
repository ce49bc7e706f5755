#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `run.sh pipeline` of the GPU bundle, in a folder that looks like the bundle: the frames that every
# example graph gives on the CPU are counted, the halves that need a GPU are skipped.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/runtime/bin" "$folder/runtime/gstreamer-1.0"
ln -s "$HOLOFLOW_BUILD_ROOT/holoflow" "$HOLOFLOW_BUILD_ROOT/gst" "$folder/"
ln -s "$HOLOFLOW_SOURCE_ROOT" "$folder/source"
scanner=$(pkg-config --variable=pluginscannerdir gstreamer-1.0)/gst-plugin-scanner
plugins=$(pkg-config --variable=pluginsdir gstreamer-1.0)
ln -s "$scanner" "$folder/runtime/bin/"
ln -s "$plugins"/libgst{coreelements,videotestsrc}.so "$folder/runtime/gstreamer-1.0/"
cp "$HOLOFLOW_SOURCE_ROOT/tests/support/gpu_bundle_run.sh" "$folder/run.sh"

# No GPU is asked for: the build has no CUDA module.
status=0
HOLOFLOW_REQUIRE_GPU="" "$folder/run.sh" pipeline | tee "$folder/told" || status=$?
graphs=$(find "$HOLOFLOW_SOURCE_ROOT/examples/graphs" -name '*.json' | wc -l)
expected="$((graphs + 1)) passed, 0 failed, $((graphs + 1)) skipped"
if [ "$(tail -1 "$folder/told")" != "$expected" ] || [ "$status" != 0 ]; then
  echo "expected \"$expected\" and exit status 0, got exit status $status"
  exit 1
fi
