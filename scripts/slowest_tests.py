#!/usr/bin/env python3
"""Prints the tests that took the longest: slowest_tests.py FILE [COUNT], of the JUnit file that
`ctest --output-junit FILE` has written. A test that was repeated counts with its last run."""

import sys
import xml.etree.ElementTree as ElementTree


def slowest(path: str, count: int) -> list[tuple[float, str]]:
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return sorted(((float(case.get("time", 0)), case.get("name", "")) for case in cases), reverse=True)[:count]


def main() -> None:
    path, *more = sys.argv[1:]
    found = slowest(path, int(more[0]) if more else 10)
    print(f"The {len(found)} slowest tests:")
    for seconds, name in found:
        print(f"{seconds:8.1f} s  {name}")


if __name__ == "__main__":
    main()
