# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of the command `holoflow` share."""
import contextlib
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["HOLOFLOW_SOURCE_ROOT"])
TOOL = Path(os.environ["HOLOFLOW_BUILD_ROOT"]) / "holoflow" / "tools" / "holoflow"
GREY = "video/x-raw,format=GRAY8,width=8,height=6"
SKIPPED = 77


def needed(module):
    """Imports a module that comes from a Debian package, or skips the test program."""
    try:
        return __import__(module)
    except ImportError:
        print(f"skipped: python3-{module} is not installed")
        sys.exit(SKIPPED)


class CommandTest(unittest.TestCase):
    """Each test runs in an empty folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def holoflow(self, *arguments, env=None, stdin=None):
        """The finished process, its output as text."""
        return subprocess.run(
            [TOOL, *[str(argument) for argument in arguments]], cwd=self.folder, input=stdin,
            capture_output=True, text=True, errors="replace", timeout=120, check=False,
            env=dict(os.environ, **(env or {})))

    def good(self, *arguments, **options):
        """Standard output of a command that must succeed."""
        result = self.holoflow(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def bad(self, *arguments, status=1, **options):
        """The lines on standard error of a command that must fail."""
        result = self.holoflow(*arguments, **options)
        self.assertEqual(result.returncode, status, (result.stdout, result.stderr))
        self.assertNotEqual(result.stderr, "")
        return result.stderr.splitlines()

    def write(self, name, text):
        path = self.folder / name
        with contextlib.suppress(AttributeError):
            text = text.encode()
        path.write_bytes(text)
        return path

    def require_format(self, ending):
        """Skips the test where the command was built without the format's library."""
        path = self.write(f"probe{ending}", "")
        if "expected a build with" in self.holoflow("check", "copy", "--like", path.name).stderr:
            self.skipTest(f"built without {ending}")
        path.unlink()

    def assert_line(self, lines, *parts):
        """Some line holds all the parts."""
        for line in lines:
            if all(part in line for part in parts):
                return
        self.fail(f"no line with {parts} in {lines}")
