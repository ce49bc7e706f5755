#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes build/gpu-bundle/: everything needed to test and measure on another machine that has nothing
# but the NVIDIA driver and CUDA 13's libraries. There: build/gpu-bundle/run.sh --help
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = -h ] || [ "${1:-}" = --help ]; then
  cat <<'EOF'
Usage: tests/gpu_bundle.sh [BUILDTYPE]

Builds build/gpu (Meson's build type, default release, for one GPU architecture: GPU_ARCH, default
90) and copies into build/gpu-bundle/ the plugin, the libraries, test programs, benchmarks, examples
and the part of GStreamer that they need. At most 52 MiB.
EOF
  exit 0
fi

limit_mib=52
tree=build/gpu
bundle=build/gpu-bundle
runtime=$bundle/runtime
gst_plugins="app coreelements videotestsrc videoconvertscale rawparse videorate typefindfunctions
  debugutilsbad nvcodec"

build() {
  local setup=(meson setup "$tree" "--buildtype=${1:-release}" -Db_ndebug=if-release
    -Dcuda=enabled -Dgstreamer=enabled -Dtests=enabled -Dcuda-archs="${GPU_ARCH:-90}")
  mkdir -p build
  if [ -f "$tree/build.ninja" ]; then
    "${setup[@]}" --reconfigure >build/gpu.log 2>&1 || "${setup[@]}" --wipe
  else
    "${setup[@]}"
  fi
  ninja -C "$tree"
}

# The bundle has the shape of the build tree, so that programs find each other as they do there.
copy_project() {
  mkdir -p "$bundle"/{holoflow/tools,gst,tests/bench,tests/shared_cudart,source}
  cp -L "$tree/holoflow/libholoflow.so.0" "$tree/holoflow/libholoflow-cuda.so" "$bundle/holoflow/"
  cp "$tree/gst/libgstholoflow.so" "$bundle/gst/"
  cp "$tree/tests/shared_cudart/libholoflow-cuda.so" "$bundle/tests/shared_cudart/"
  ln -s ../../holoflow/libholoflow.so.0 "$bundle/tests/shared_cudart/libholoflow.so.0"
  find "$tree/holoflow/tools" -maxdepth 1 -type f -executable \
    -exec cp {} "$bundle/holoflow/tools/" \;
  # Programs, and libraries that tests load themselves: modules, the counting shim.
  (cd "$tree" && find tests examples -type f -executable -not -path 'tests/shared_cudart/*' \
    -exec cp --parents {} "../../$bundle/" \; 2>/dev/null) || true
  # Nothing in these asks for a GPU.
  rm -f "$bundle"/tests/test_{core,measuring,shim}
  find "$bundle" -type f -exec strip --strip-unneeded {} \;
  # What tests and examples read.
  find examples tests -type f -not -path 'tests/fuzz/*' -not -path 'tests/tools/*' \( -name '*.json' -o -name '*.py' -o -name '*.sh' -o -name '*.npy' \
    -o -name '*.png' \) -exec cp --parents {} "$bundle/source/" \;
  cp tests/support/gpu_bundle_run.sh "$bundle/run.sh"
}

copy_gstreamer() {
  local libdir scanner plugin
  libdir=$(pkg-config --variable=libdir gstreamer-1.0)
  scanner=$(pkg-config --variable=pluginscannerdir gstreamer-1.0)/gst-plugin-scanner
  mkdir -p "$runtime/bin" "$runtime/gstreamer-1.0"
  cp -L "$(command -v gst-launch-1.0)" "$(command -v gst-inspect-1.0)" "$scanner" "$runtime/bin/"
  for plugin in $gst_plugins; do
    cp -L "$libdir/gstreamer-1.0/libgst$plugin.so" "$runtime/gstreamer-1.0/"
  done
}

# Every library that anything in the bundle is linked to, but for those that must be the other
# machine's own: the C and C++ runtimes and CUDA.
copy_libraries() {
  local theirs='ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s)'
  theirs="/($theirs|lib(cuda|cudart|cufft))\.so"
  find "$bundle" -type f \( -executable -o -name '*.so*' \) -not -name '*.sh' -not -name '*.py' \
    -exec ldd {} \; 2>/dev/null |
    awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE "$theirs" | grep -vE '/lib(holoflow|fake-cudart)' |
    xargs -r -I{} cp -Ln {} "$runtime/"
}

./tests/setup.sh
build "${1:-release}"
rm -rf "$bundle"
copy_project
copy_gstreamer
copy_libraries

size_kib=$(du -sk "$bundle" | cut -f1)
echo "$bundle: $((size_kib / 1024)) MiB of at most $limit_mib"
[ "$size_kib" -le $((limit_mib * 1024)) ] || { echo "gpu_bundle: too large" >&2; exit 1; }
