#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every source includes the standard headers of the names that it uses.

A standard library may bring <algorithm> with <vector> in one release and not in the next, so a
header counts only if the file, or a header of ours that it includes, names it.
"""
import os
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(os.environ["HOLOFLOW_SOURCE_ROOT"])
FOLDERS = ("holoflow", "gst", "examples", "tests")
NAMES = {
    "algorithm": "all_of any_of none_of binary_search clamp copy copy_n copy_if count count_if equal "
                 "fill fill_n find find_if find_if_not for_each generate lower_bound upper_bound "
                 "max min max_element min_element minmax minmax_element mismatch nth_element "
                 "partition remove_if replace reverse rotate search sort stable_sort swap_ranges "
                 "transform unique",
    "array": "array to_array",
    "atomic": "atomic atomic_bool memory_order_relaxed memory_order_acquire memory_order_release",
    "barrier": "barrier",
    "chrono": "chrono",
    "cmath": "abs sqrt hypot lround isnan isfinite floor ceil fabs cos sin pow log1p",
    "complex": "complex",
    "condition_variable": "condition_variable condition_variable_any",
    "cstdio": "printf fprintf puts snprintf fopen FILE",
    "cstdlib": "getenv exit free malloc strtol",
    "cstring": "memcpy memset memcmp strlen strcmp",
    "deque": "deque",
    "exception": "exception_ptr current_exception rethrow_exception",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream fstream",
    "functional": "function",
    "future": "future promise async",
    "iostream": "cout cerr cin",
    "iterator": "back_inserter istreambuf_iterator distance",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once",
    "numbers": "numbers",
    "numeric": "accumulate gcd lcm iota inner_product reduce",
    "optional": "optional nullopt",
    "random": "mt19937 mt19937_64 uniform_int_distribution uniform_real_distribution",
    "set": "set multiset",
    "span": "span",
    "sstream": "ostringstream istringstream stringstream",
    "stdexcept": "runtime_error invalid_argument logic_error out_of_range",
    "string": "string to_string",
    "string_view": "string_view",
    "thread": "thread jthread this_thread",
    "tuple": "tuple tie",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "variant": "variant visit get_if holds_alternative",
    "vector": "vector",
}
HEADER_OF = {name: header for header, names in NAMES.items() for name in names.split()}
# <string> must have std::string_view, <cmath> and <cstdlib> share std::abs; so for a few others.
ALSO = {"string_view": {"string"}, "cmath": {"cstdlib", "complex"}, "algorithm": {"ranges"},
        "exception": {"stdexcept"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
USE = re.compile(r"\bstd::(?:ranges::)?(\w+)")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


@cache
def headers_of(path):
    """Standard headers that a file includes, itself or through headers of ours."""
    found = set()
    for name in INCLUDE.findall(path.read_text()):
        ours = [place / name for place in (path.parent, ROOT, ROOT / "holoflow" / "include")
                if (place / name).is_file()]
        found |= headers_of(ours[0]) if ours else {name}
    return found


def missing_in(path):
    code = NOT_CODE.sub("", re.sub(r"^\s*#.*$", "", path.read_text(), flags=re.MULTILINE))
    used = {HEADER_OF[name] for name in USE.findall(code) if name in HEADER_OF}
    have = headers_of(path)
    return sorted(header for header in used - have if not ALSO.get(header, set()) & have)


def main():
    files = [path for folder in FOLDERS for ending in ("cc", "hh", "h", "cu")
             for path in sorted((ROOT / folder).rglob(f"*.{ending}"))]
    assert len(files) > 100, f"only {len(files)} sources found"
    wrong = 0
    for path in files:
        for header in missing_in(path):
            print(f"{path.relative_to(ROOT)}: uses a name of <{header}> and does not include it")
            wrong += 1
    print(f"{len(files)} sources, {wrong} headers missing")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
