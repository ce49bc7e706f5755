#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Last step of `meson install`: refreshes the cache of the linker and says how to use an installation
# that GStreamer does not find by itself.
# Usage: finish.sh LIBRARY_DIR PLUGIN_DIR ENV_SH; PLUGIN_DIR and ENV_SH may be empty
set -eu
library_dir=$1
plugin_dir=$2
env_sh=$3

PATH="$PATH:/usr/sbin:/sbin"
if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then
  # -N -X: lists the folders that the linker knows, and changes nothing.
  if ldconfig -v -N -X 2>/dev/null | grep -q "^$library_dir:"; then
    ldconfig
  fi
fi

if [ -z "$env_sh" ] || [ -n "${MESON_INSTALL_QUIET:-}" ]; then
  exit 0
fi
# Meson 1.0 shows the output of a script only if it fails: this goes to Meson's own, unless that is a
# file, in which Meson would write over it.
meson_output=/proc/$PPID/fd/1
if [ ! -f "$meson_output" ] && [ -w "$meson_output" ]; then
  exec >>"$meson_output"
fi
if [ -n "$plugin_dir" ]; then
  echo "GStreamer does not search this prefix by itself. Set the path of the plugin:"
  echo "  export GST_PLUGIN_PATH_1_0=\"$plugin_dir\""
fi
echo "Or set all paths, for programs and pkg-config too:"
echo "  . \"$env_sh\""
