#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs every ```sh block of README.md and docs/*.md, in order, one shell per page.

A block behind `<!-- not run: reason -->` is left out, and the reason printed. The shell starts in the
source root without any of the tests' own settings.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ["HOLOFLOW_SOURCE_ROOT"])
BLOCK = re.compile(r"(?:<!-- not run: (.*?) -->\n)?```sh\n(.*?)```", re.DOTALL)
OURS = ("GST_", "HOLOFLOW_", "G_DEBUG", "MESON_", "ASAN_", "TSAN_", "UBSAN_", "LSAN_")


def script_of(page):
    script = []
    for reason, commands in BLOCK.findall(page.read_text()):
        if reason:
            print(f"{page.name}: left out ({reason}): {commands.strip()}")
        else:
            script.append(commands)
    return script


def main():
    ran = 0
    env = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        script = script_of(page)
        if not script:
            continue
        result = subprocess.run(["bash", "-eux", "-o", "pipefail"], input="".join(script), text=True,
                                cwd=ROOT, env=env, check=False)
        if result.returncode != 0:
            print(f"{page}: a command failed with {result.returncode}")
            return 1
        ran += len(script)
    assert ran >= 5, f"only {ran} blocks of commands found"
    print(f"{ran} blocks of commands ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
