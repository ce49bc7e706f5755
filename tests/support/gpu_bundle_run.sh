#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs what tests/gpu_bundle.sh packed, on a machine with the NVIDIA driver and CUDA 13's libraries.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)

usage() {
  cat <<'EOF'
Usage: run.sh [tests|sanitizer|bench|pipeline|all] [FILTER]

  tests      every test program; with a GPU present, a test that finds none fails
  sanitizer  compute-sanitizer over the CUDA tests (skipped where it is not installed);
             SANITIZER_TOOL=racecheck or initcheck, default memcheck
  bench      every benchmark and `holoflow bench` with the example graphs; a JSON report beside
             each log; BENCH_PAIRS=11 pairs of bench_pipeline and bench_replay
  pipeline   gst-launch-1.0 with holoflowbin and every example graph: frames out on the CPU as the
             graph says, and the same results on the GPU
  all        all of these, in this order (default)

A figure or a claim about the GPU needs a run of all: see docs/performance.md.
FILTER is GoogleTest's, for tests and sanitizer; for bench a part of the names of those to run.
Logs go to $LOGS (default: logs/ beside this script). Environment: TEST_TIMEOUT and
BENCH_TIMEOUT in s (300 each).
EOF
}

logs=${LOGS:-$here/logs}
test_timeout=${TEST_TIMEOUT:-300}
bench_timeout=${BENCH_TIMEOUT:-300}
mkdir -p "$logs"

setup_environment() {
  local libs="$here/holoflow:$here/runtime" toolkit dir
  for toolkit in "${CUDA_PATH:-/usr/local/cuda}" /usr/local/cuda /usr/local/cuda-13*; do
    for dir in "$toolkit/lib64" "$toolkit/targets/x86_64-linux/lib"; do
      if [ -d "$dir" ]; then libs="$libs:$dir"; fi
    done
  done
  export LD_LIBRARY_PATH="$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export PATH="$here/runtime/bin:$here/holoflow/tools:$PATH"
  export GST_PLUGIN_SYSTEM_PATH_1_0="$here/runtime/gstreamer-1.0"
  export GST_PLUGIN_PATH_1_0="$here/gst"
  export GST_PLUGIN_SCANNER_1_0="$here/runtime/bin/gst-plugin-scanner"
  export GST_REGISTRY="$logs/registry.bin"
  export HOLOFLOW_MODULE_PATH="$here/holoflow"
  export HOLOFLOW_BUILD_ROOT="$here" HOLOFLOW_SOURCE_ROOT="$here/source"
  export G_DEBUG=fatal-criticals
  # A value from outside counts, even an empty one: a build without CUDA may run beside a GPU.
  if [ -z "${HOLOFLOW_REQUIRE_GPU+set}" ] && compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
    export HOLOFLOW_REQUIRE_GPU=1
  fi
}

passed=0
failed=0
skipped=0
failures=()

fail() {
  failed=$((failed + ${2:-1}))
  failures+=("$1")
}

# count LOG PATTERN: the number in GoogleTest's summary line that PATTERN begins.
count() {
  sed -nE "s/^\[  $2 *\] ([0-9]+) tests?.*/\1/p" "$1" | tail -1 | grep . || echo 0
}

# run_gtest NAME COMMAND…: runs one program and adds up its cases.
run_gtest() {
  local name=$1 log="$logs/$1.log" status=0 good bad left_out
  shift
  timeout "$test_timeout" "$@" >"$log" 2>&1 || status=$?
  good=$(count "$log" PASSED)
  bad=$(count "$log" FAILED)
  left_out=$(count "$log" SKIPPED)
  passed=$((passed + good))
  skipped=$((skipped + left_out))
  if [ "$status" != 0 ]; then
    fail "$name (exit status $status, $log)" "$((bad > 0 ? bad : 1))"
    grep -E '^\[  FAILED  \]|Failure|ERROR|Error' "$log" | tail -20
    [ "$bad" -gt 0 ] || tail -20 "$log"
  fi
  echo "$name: $good passed, $bad failed, $left_out skipped, exit status $status"
}

tests() {
  local program
  for program in "$here"/tests/test_*; do
    run_gtest "$(basename "$program")" "$program" --gtest_filter="${1:-*}"
  done
  local status=0
  "$here/tests/api_cuda" >"$logs/api_cuda.log" 2>&1 || status=$?
  case "$status" in
    0) passed=$((passed + 1)); cat "$logs/api_cuda.log" ;;
    77) skipped=$((skipped + 1)) ;;
    *) fail "api_cuda (exit status $status)"; cat "$logs/api_cuda.log" ;;
  esac
}

sanitizer() {
  local tool program
  tool=$(PATH="$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer" \
    command -v compute-sanitizer) || tool=""
  if [ -z "$tool" ]; then
    echo "sanitizer: skipped, compute-sanitizer is not installed"
    skipped=$((skipped + 1))
    return
  fi
  # Tests provoke failing calls; those that the code does not expect fail the test itself.
  local options=""
  [ "${SANITIZER_TOOL:-memcheck}" != memcheck ] || options="--report-api-errors no"
  for program in "$here"/tests/test_*; do
    # These start themselves again under a library of their own.
    case "$program" in */test_shim | */test_faults) continue ;; esac
    "$program" --gtest_list_tests --gtest_filter="${1:-*Cuda*-*Long*}" | grep -q '^  ' || continue
    # shellcheck disable=SC2086  # options are words
    run_gtest "sanitizer-$(basename "$program")" "$tool" --tool "${SANITIZER_TOOL:-memcheck}" $options \
      --error-exitcode 99 \
      "$program" --gtest_filter="${1:-*Cuda*-*Long*}"
  done
}

# run_bench NAME COMMAND…: one benchmark, where the filter lets it.
run_bench() {
  local name=$1 log="$logs/$1.log" status=0
  shift
  case "$name" in *"$bench_filter"*) ;; *) return ;; esac
  echo "== $name"
  timeout "$bench_timeout" "$@" 2>&1 | tee "$log" || status=$?
  if [ "$status" != 0 ]; then
    fail "$name (exit status $status, $log)"
  elif ! grep -q '^skipped:' "$log"; then
    passed=$((passed + 1))
  elif [ -n "${HOLOFLOW_REQUIRE_GPU:-}" ]; then
    fail "$name found no GPU ($log)"
  else
    skipped=$((skipped + 1))
  fi
}

bench() {
  local bench_filter=${1:-} program name size graph device=auto
  [ -z "${HOLOFLOW_REQUIRE_GPU:-}" ] || device=cuda
  for program in "$here"/tests/bench/bench_*; do
    [ -x "$program" ] || continue
    name=$(basename "$program")
    case "$name" in
      bench_pipeline | bench_replay)
        run_bench "$name" "$program" "${BENCH_PAIRS:-11}" --json "$logs/$name.json" ;;
      bench_counts)
        for size in 128x128 512x512 1920x1080; do
          run_bench "$name-$size" "$program" --size "$size" --json "$logs/$name-$size.json"
        done
        run_bench "$name-band-pass" "$program" --tasks band-pass --json "$logs/$name-band-pass.json" ;;
      bench_scheduler) run_bench "$name" "$program" --json "$logs/$name.json" ;;
      bench_compile) run_bench "$name" "$program" 11 ;;
      *) run_bench "$name" "$program" ;;
    esac
  done
  for graph in "$HOLOFLOW_SOURCE_ROOT"/examples/graphs/*.json; do
    name=holoflow-bench-$(basename "$graph" .json)
    run_bench "$name" holoflow bench "$graph" --size 1920x1080 \
      --device "$device" --json "$logs/$name.json"
  done
}

frames_in=128

# pipeline_on DEVICE GRAPH FILE: frames of noise through a graph.
pipeline_on() {
  timeout "$test_timeout" gst-launch-1.0 -q \
    videotestsrc "num-buffers=$frames_in" pattern=snow ! \
    video/x-raw,format=GRAY8,width=640,height=480 ! \
    holoflowbin "device=$1" "graph=$2" ! filesink "location=$3" >"$logs/pipeline-$1.log" 2>&1
}

# compare FILE FILE LEVELS: as many bytes, none further apart than LEVELS.
compare() {
  python3 - "$@" <<'EOF'
import sys
a, b = (open(name, "rb").read() for name in sys.argv[1:3])
if len(a) != len(b):
    sys.exit(f"frames were lost: {len(a)} and {len(b)} bytes")
worst = max(abs(x - y) for x, y in zip(a, b))
print(f"largest difference between CPU and GPU: {worst}")
sys.exit(worst > int(sys.argv[3]))
EOF
}

# pipeline_pair NAME GRAPH LEVELS: on the CPU, where the graph says how many frames come out, and on
# the GPU, results compared.
pipeline_pair() {
  local frames bytes
  if ! frames=$("$HOLOFLOW_SOURCE_ROOT/tests/support/frames_out.py" "$2" "$frames_in"); then
    fail "pipeline $1: frames_out.py cannot work out how many frames come out"
    return
  fi
  if ! pipeline_on cpu "$2" "$logs/cpu.raw"; then
    fail "pipeline $1 on cpu ($logs/pipeline-cpu.log)"
    tail -20 "$logs/pipeline-cpu.log"
    return
  fi
  bytes=$(stat -c %s "$logs/cpu.raw")
  if [ "$bytes" = $((frames * 640 * 480)) ]; then
    echo "pipeline $1 on cpu: $frames frames from $frames_in"
    passed=$((passed + 1))
  else
    fail "pipeline $1 on cpu: expected $frames frames from $frames_in, got $bytes bytes"
    return
  fi
  if ! pipeline_on cuda "$2" "$logs/cuda.raw"; then
    if [ -z "${HOLOFLOW_REQUIRE_GPU:-}" ]; then
      skipped=$((skipped + 1))
    else
      fail "pipeline $1 on cuda ($logs/pipeline-cuda.log)"
      tail -20 "$logs/pipeline-cuda.log"
    fi
  elif compare "$logs/cpu.raw" "$logs/cuda.raw" "$3"; then
    echo "pipeline $1: the same on CPU and GPU within $3"
    passed=$((passed + 1))
  else
    fail "pipeline $1: CPU and GPU results differ"
  fi
  rm -f "$logs"/*.raw
}

pipeline() {
  local graph
  if ! gst-inspect-1.0 holoflowbin >"$logs/inspect.log" 2>&1; then
    fail "gst-inspect-1.0 holoflowbin ($logs/inspect.log)"
    return
  fi
  pipeline_pair shift "upload ! batchqueue ! fftshift ! batchqueue ! download" 0
  for graph in "$HOLOFLOW_SOURCE_ROOT"/examples/graphs/*.json; do
    pipeline_pair "$(basename "$graph")" "$graph" 1
  done
}

what=${1:-all}
case "$what" in
  -h | --help) usage; exit 0 ;;
  tests | sanitizer | bench | pipeline | all) ;;
  *) usage >&2; exit 2 ;;
esac
setup_environment
cd "$logs" || exit 1
case "$what" in
  all) tests ""; sanitizer ""; bench ""; pipeline ;;
  *) "$what" "${2:-}" ;;
esac
[ "${#failures[@]}" = 0 ] || printf 'failed: %s\n' "${failures[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
