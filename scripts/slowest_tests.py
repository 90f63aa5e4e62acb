#!/usr/bin/env python3
"""Prints the tests that took the longest, and those that took most of a processor: slowest_tests.py FILE [COUNT], of the
JUnit file that `ctest --output-junit FILE` has written. A test that was repeated counts with its last run."""

import re
import sys
import xml.etree.ElementTree as ElementTree

CPU = re.compile(r"^CPU: ([0-9.]+) s$", re.MULTILINE)  # the last line of tests/support/with_children.py


def cpu_of(case: ElementTree.Element) -> float:
    used = CPU.findall(case.findtext("system-out") or "")
    return float(used[-1]) if used else 0.0


def show(what: str, found: list[tuple[float, str]], count: int) -> None:
    print(f"{what}, the first {count} of {sum(s for s, _ in found):.0f} s:")
    for seconds, name in sorted(found, reverse=True)[:count]:
        print(f"{seconds:8.1f} s  {name}")


def main() -> None:
    path, *more = sys.argv[1:]
    count = int(more[0]) if more else 10
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    show("The slowest tests", [(float(c.get("time", 0)), c.get("name", "")) for c in cases], count)
    show("Tests with processes of their own, by processor", [(cpu_of(c), c.get("name", "")) for c in cases], count)


if __name__ == "__main__":
    main()
