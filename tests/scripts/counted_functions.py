#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The counting shim stands in front of every function of the CUDA runtime that the module calls.

One that is missing there would neither be counted in the steady state nor be made to fail.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ["HOLOFLOW_BUILD_ROOT"])
# They only tell something, or register kernels before main().
NOT_COUNTED = re.compile(r"cudaGetError(Name|String)|cudaDriverGetVersion|__cuda(Register|Unregister|Push|Pop|Init)\w*"
                         r"|__cudaGetKernel")


def names(path, *options):
    text = subprocess.run(["nm", "-D", *options, path], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


def main():
    module = BUILD / "tests/shared_cudart/libholoflow-cuda.so"
    shim = BUILD / "tests/bench/libholoflow-counting-shim.so"
    for library in (module, shim):
        if not library.exists():
            print(f"skipped: {library.name} is not built")
            return 77
    called = {name for name in names(module, "--undefined-only") if re.match(r"(__)?cuda[A-Z]", name)}
    if len(called) < 20:
        sys.exit(f"expected the module to call CUDA, got {sorted(called)}")
    missing = {name for name in called - names(shim, "--defined-only") if not NOT_COUNTED.fullmatch(name)}
    if missing:
        sys.exit("tests/bench/counted_functions.hh lacks " + ", ".join(sorted(missing)))
    print(f"{len(called)} functions, none missing")
    return 0


sys.exit(main())
