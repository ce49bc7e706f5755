#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# smoke.sh PROGRAM CORPUS RUNS [OPTION…]: a short, repeatable run of a fuzz target. What it finds new
# goes to a folder that is removed again; an input that breaks the target is printed as base64.
set -eu
program=$(realpath "$1") corpus=$(realpath "$2") runs=$3
shift 3
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
cd "$found"
mkdir new
"$program" -runs="$runs" -seed=1 -max_len=4096 -timeout=30 -print_final_stats=0 -verbosity=0 -print_funcs=0 "$@" new "$corpus"
