#!/usr/bin/env python3
"""Tests that failed and passed when they were repeated: flaky_tests.py FIRST AGAIN LIST

FIRST and AGAIN are files that `ctest --output-junit` has written, of the first run and of the repetition of its failed
tests. Writes the names of flaky tests to LIST, one a line. Exit 0 if all that failed first passed then.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def by_status(path: str, *statuses: str) -> set[str]:
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {case.get("name", "") for case in cases if case.get("status") in statuses}


def main() -> int:
    first, again, to = sys.argv[1:]
    failed, passed = by_status(first, "fail"), by_status(again, "run")
    pathlib.Path(to).write_text("".join(f"{name}\n" for name in sorted(failed & passed)))
    return 1 if failed - passed else 0


if __name__ == "__main__":
    sys.exit(main())
