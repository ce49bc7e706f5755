#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the single tests of one `meson test` run.

Usage: count_results.py BUILD_DIR STATUS
Prints "NAME passed failed skipped". A GoogleTest program counts with each of its cases, any other
test as one. STATUS is what `meson test` returned: a program that ends badly after its last case
(a leak found at exit, say), or that wrote no results, counts as one failure more.
"""

import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count_cases(junit: pathlib.Path) -> tuple[int, int, int, set[str]]:
    """Passed, failed and skipped cases, and the names of Meson's tests that own the failed ones."""
    passed = failed = skipped = 0
    failing_tests = set()
    for suite in ElementTree.parse(junit).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            if case.get("status") == "notrun":
                continue
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                # A GoogleTest suite is named project.TEST.SuiteName, a plain test is the case.
                failing_tests.add(case.get("name"))
                failing_tests.add(suite.get("name", "").partition(".")[2].rpartition(".")[0])
            elif case.find("skipped") is not None:
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped, failing_tests


def main() -> None:
    build_dir, status = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    logs = build_dir / "meson-logs"
    passed, failed, skipped, failing_tests = count_cases(logs / "testlog.junit.xml")
    for line in (logs / "testlog.json").read_text().splitlines():
        test = json.loads(line)
        bad = test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")
        if bad and test["name"] not in failing_tests:
            failed += 1
    if status != 0 and failed == 0:
        failed = 1
    print(build_dir.name, passed, failed, skipped)


main()
