#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Sets the machine up, builds, and filters a video with a graph.
set -euo pipefail

if [ "${1:-}" = -h ] || [ "${1:-}" = --help ]; then
  cat <<'USAGE'
Usage: examples/demo.sh [VIDEO]

Runs examples/graphs/bandpass.json over VIDEO (without one: over a moving test pattern) on the GPU if
there is one, else on the CPU. Writes build/demo-output/: before.png, after.png and the filtered video.
Environment: GRAPH (another graph file), DEVICE (auto, cpu or cuda), OUTPUT (another folder).
USAGE
  exit 0
fi

video=${1:-}
if [ -n "$video" ] && [ ! -f "$video" ]; then
  echo "demo: there is no file \"$video\"" >&2
  exit 2
fi
[ -z "$video" ] || video=$(realpath "$video")
graph=${GRAPH:-}
[ -z "$graph" ] || graph=$(realpath "$graph")
cd "$(dirname "$0")/.."
graph=${graph:-examples/graphs/bandpass.json}
output=${OUTPUT:-build/demo-output}

echo "== 1/3 packages"
./tests/setup.sh
echo "== 2/3 build"
# With a GPU and CUDA's compiler for that GPU alone; else for the CPU.
nvcc=$(PATH="$PATH:${CUDA_PATH:-/usr/local/cuda}/bin:/usr/local/cuda/bin" command -v nvcc || true)
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .) || true
if [ -n "$nvcc" ] && [ -n "$arch" ]; then
  build=build/demo-gpu
  cuda=(-Dcuda=enabled "-Dcuda-archs=$arch")
else
  build=build/demo-cpu
  cuda=(-Dcuda=disabled)
  echo "no GPU with CUDA's compiler here: building for the CPU"
fi
if [ ! -f "$build/build.ninja" ]; then
  mkdir -p build
  meson setup "$build" --buildtype=release -Dtests=disabled "${cuda[@]}" \
    >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
fi
# On a terminal ninja keeps to one line by itself; elsewhere there is a line for each tenth.
if [ -t 1 ]; then
  ninja -C "$build"
else
  NINJA_STATUS='%p built ' ninja -C "$build" 2>&1 | tee "$build.log" | awk '
    $2 == "built" && int($1 / 10) > tenth { tenth = int($1 / 10); print $1, $2; fflush() }
    /no work to do/ { print }' || { cat "$build.log" >&2; exit 1; }
fi
echo "== 3/3 $graph over ${video:-a moving test pattern}"
mkdir -p "$output"
export GST_PLUGIN_PATH_1_0=$PWD/$build/gst
export GST_REGISTRY=$PWD/$build/registry.bin
"$build/examples/run_video" "$graph" "$output" "$video" "${DEVICE:-auto}"
