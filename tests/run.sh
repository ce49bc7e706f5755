#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds Holoflow and runs its whole test suite; the last line counts every single test.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'EOF'
Usage: tests/run.sh [--sanitize] [--only CONFIG[,CONFIG…]] [TEST…]

Installs missing packages (Debian), builds and tests these configurations:
  cuda     build/cuda: g++ and nvcc (left out, saying so, without CUDA's nvcc);
           tests that need a GPU are skipped where there is none
  nocuda   build/nocuda: g++, -Dcuda=disabled
and on request:
  asan     build/asan: clang++, AddressSanitizer and UndefinedBehaviorSanitizer, no CUDA;
           also short runs of the fuzz targets
  tsan     build/tsan: clang++, ThreadSanitizer, no CUDA
  clang    build/clang: clang++, no CUDA

  --sanitize      cuda, nocuda, asan and tsan
  --only CONFIGS  these configurations alone, for quick turns: tests/run.sh --only nocuda core
  TEST            names or suites of `meson test --list`; without any, all tests run

The last line is "N passed, N failed, N skipped". The exit status is 0 only if nothing failed.
EOF
}

configs="cuda nocuda"
tests=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --sanitize) configs="cuda nocuda asan tsan" ;;
    --only) configs="${2:?--only needs a configuration}"; configs="${configs//,/ }"; shift ;;
    -*) usage >&2; exit 2 ;;
    *) tests+=("$1") ;;
  esac
  shift
done

find_nvcc() {
  PATH="$PATH:${CUDA_PATH:-/usr/local/cuda}/bin:/usr/local/cuda/bin" command -v nvcc
}

# options CONFIG: the options of `meson setup`, one per line.
options() {
  echo "-Dwerror=true"
  case "$1" in
    cuda) printf '%s\n' -Dcuda=enabled -Dcuda-archs=90 ;;
    *) echo "-Dcuda=disabled" ;;
  esac
  # b_lundef: clang links the sanitizers' runtime into programs only, never into libraries.
  case "$1" in
    asan) printf '%s\n' -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=enabled ;;
    tsan) printf '%s\n' -Db_sanitize=thread -Db_lundef=false ;;
  esac
}

build() {
  local config="$1" compiler=g++ opts
  case "$config" in asan | tsan | clang) compiler=clang++ ;; esac
  # Meson looks for ccache by itself only where CXX is not set.
  if command -v ccache >/dev/null; then compiler="ccache $compiler"; fi
  mapfile -t opts < <(options "$config")
  local setup=(env CXX="$compiler" meson setup "build/$config" "${opts[@]}")
  if [ -f "build/$config/build.ninja" ]; then
    # --reconfigure picks up new files; a tree made by another Meson or compiler is made anew.
    "${setup[@]}" --reconfigure >"build/$config.log" 2>&1 || "${setup[@]}" --wipe
  else
    "${setup[@]}"
  fi
  ninja -C "build/$config"
}

run_tests() {
  local config="$1" status=0 multiplier=1 launcher=()
  case "$config" in
    asan) multiplier=3 ;;
    tsan)
      multiplier=5
      # clang 14's runtime fails on kernels that randomise addresses more than it expects.
      if setarch -R true 2>/dev/null; then launcher=(setarch -R); fi
      ;;
  esac
  case "$config" in
    asan | tsan)
      # The system's plugins are scanned by an ordinary program, so that only our own plugin is
      # loaded into the instrumented one, and others' leaks stay out.
      GST_REGISTRY="build/$config/tests/gst.registry" gst-inspect-1.0 >/dev/null
      ;;
  esac
  rm -f "build/$config"/*.xml  # else the results of an earlier run would stand for a crashed one
  "${launcher[@]}" meson test -C "build/$config" --no-rebuild --print-errorlogs \
    --timeout-multiplier "$multiplier" "${tests[@]}" || status=$?
  tests/support/count_results.py "build/$config" "$status" >>build/results
}

./tests/setup.sh
# The configurations share most object files: a cache must not tell their build folders apart.
export CCACHE_NOHASHDIR=1
mkdir -p build
: >build/results
for config in $configs; do
  if [ "$config" = cuda ] && ! find_nvcc >/dev/null; then
    echo "== cuda: left out, no nvcc on PATH, in \$CUDA_PATH/bin or /usr/local/cuda/bin"
    continue
  fi
  echo "== $config: build"
  if ! build "$config"; then
    echo "== $config: does not build"
    echo "$config 0 1 0" >>build/results
    continue
  fi
  echo "== $config: test"
  run_tests "$config"
done

echo "== results"
awk '{ printf "%s: %d passed, %d failed, %d skipped\n", $1, $2, $3, $4 }' build/results
awk '
  { passed += $2; failed += $3; skipped += $4 }
  END {
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
  }' build/results
