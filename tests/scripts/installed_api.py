#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles programs of users against the installed headers and runs them.

Installs the build into a folder of its own, then builds with g++ and clang++, warnings as errors:
tests/api (tasks written for the first task model, a task that logs), examples/own_task.cc and every
program of docs/cpp.md and docs/writing-a-task.md. The CUDA program is built where nvcc is, and run
where a GPU is.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["HOLOFLOW_SOURCE_ROOT"])
BUILD = Path(os.environ["HOLOFLOW_BUILD_ROOT"])
BLOCK = re.compile(r"<!-- file: (\S+) -->\n```cpp\n(.*?)```", re.DOTALL)


def run(*command, **options):
    print("+", " ".join(str(part) for part in command), flush=True)
    return subprocess.run([str(part) for part in command], check=True, timeout=280, **options)


def install(folder):
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder,
        stdout=subprocess.DEVNULL)
    pc = next(folder.rglob("holoflow.pc"))
    prefix = pc.parent.parent.parent
    while not (prefix / "include").is_dir():
        prefix = prefix.parent
    return prefix, pc.parent


def flags_of(folder, pkgconfig):
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(folder),
               PKG_CONFIG_PATH=f"{pkgconfig}:{os.environ.get('PKG_CONFIG_PATH', '')}")
    text = run("pkg-config", "--cflags", "--libs", "holoflow", env=env, capture_output=True, text=True)
    # Folders of other packages do not exist under the sysroot; the compiler finds these by itself.
    return text.stdout.split()


def programs(folder):
    """Name and source file of each program."""
    yield ROOT / "tests" / "api" / "host.cc"
    yield ROOT / "tests" / "api" / "logging.cc"
    yield ROOT / "examples" / "own_task.cc"
    for page in (ROOT / "docs" / "cpp.md", ROOT / "docs" / "writing-a-task.md"):
        blocks = BLOCK.findall(page.read_text())
        assert len(blocks) >= 2, f"{page} has lost its programs"
        for name, code in blocks:
            path = folder / name
            path.write_text(code)
            yield path


def nvcc():
    for folder in (os.environ.get("CUDA_PATH", "/usr/local/cuda"), "/usr/local/cuda"):
        if (Path(folder) / "bin" / "nvcc").exists():
            return Path(folder) / "bin" / "nvcc"
    found = shutil.which("nvcc")
    return Path(found) if found else None


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prefix, pkgconfig = install(folder)
        library = next(prefix.rglob("libholoflow.so.0")).parent
        flags = flags_of(folder, pkgconfig)
        env = dict(os.environ, LD_LIBRARY_PATH=str(library))
        env.pop("HOLOFLOW_MODULE_PATH", None)
        sources = list(programs(folder))
        for compiler in ("g++", "clang++"):
            if shutil.which(compiler) is None:
                print(f"{compiler} is not installed, left out")
                continue
            for source in sources:
                program = folder / f"{source.stem}-{compiler.replace('+', 'p')}"
                run(compiler, "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags)
                run(program, env=env)  # a program that waits for ever fails
        if list(prefix.rglob("libholoflow-cuda.so")) and nvcc():
            program = folder / "cuda"
            run(nvcc(), "-std=c++20", "-arch=sm_90", "-ccbin", "g++", "--Werror", "all-warnings",
                ROOT / "tests" / "api" / "cuda.cu", "-o", program,
                *[flag for flag in flags if not flag.startswith(("-Wl", "-pthread"))])
            status = subprocess.run([program], env=env, timeout=60, check=False).returncode
            assert status in (0, 77), f"the CUDA program failed with {status}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
