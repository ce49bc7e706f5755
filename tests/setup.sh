#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Installs with apt what is needed to build Holoflow, run its tests and its demo (Debian 12 and later:
# names without a release's version numbers).
# Does nothing, and needs no network and no rights, when everything is there already.
# Usage: tests/setup.sh [more packages]
set -eu

packages="
  meson ninja-build ccache pkgconf dpkg-dev g++ clang libclang-rt-dev llvm lld
  nlohmann-json3-dev libspdlog-dev libgtest-dev libgmock-dev libcli11-dev
  libbenchmark-dev libpng-dev libtiff-dev
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-base-apps
  gstreamer1.0-plugins-good
  gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly gstreamer1.0-libav
  python3 python3-numpy python3-jsonschema python3-gi python3-gst-1.0 graphviz $*"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: no apt here; needed are the counterparts of these Debian packages: $packages" >&2
  exit 0
fi

missing=""
for package in $packages; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root="env"
elif command -v sudo >/dev/null; then
  as_root="sudo"
else
  echo "setup: missing packages:$missing" >&2
  echo "setup: run as root, or install sudo, or: apt-get install$missing" >&2
  exit 1
fi

echo "setup: installing$missing"
$as_root apt-get update -q || echo "setup: apt-get update failed; trying with the lists at hand" >&2
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
