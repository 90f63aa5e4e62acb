#!/usr/bin/env python3
"""docs/limits.md has every constant that bounds a number of things, and names tests that exist. A bound of a queue, a cache or a
list has a test that fills it, or a reason why not."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONSTANT = re.compile(r"\bconstexpr\s+([\w:<>, ]+?)\s(k\w*(?:Max|Most))\s*(?:=|\{)")
A_TIME = re.compile(r"chrono|Duration|\b(?:milli)?seconds\b|\bminutes\b|\bhours\b")
TEST = re.compile(r'\b(?:TEST_CASE|CONTRACT\w*)\s*\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
ROW = re.compile(r"^\| ([\w/]+\.[ch]pp) \| (k\w+) \| (.*) \|$", re.M)
KEPT = "## Queues, caches and lists"


def constants() -> set[tuple[str, str]]:
    found = set()
    for path in sorted((ROOT / "src").rglob("*.[ch]pp")):
        name = path.relative_to(ROOT / "src").as_posix()
        for kind, constant in CONSTANT.findall(path.read_text()):
            if not A_TIME.search(kind):
                found.add((name, constant))
    return found


def tests() -> set[str]:
    names = set()
    for path in sorted((ROOT / "tests").rglob("*.cpp")):
        for literals in TEST.findall(path.read_text()):
            names.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)))
    return names


def faults(page: str) -> list[str]:
    rows = ROW.findall(page)
    listed = [(path, constant) for path, constant, _ in rows]
    known, named = constants(), tests()
    kept = page[page.index(KEPT):].split("\n## ")[0]
    needing = {(path, constant) for path, constant, _ in ROW.findall(kept)}
    out = [f"src/{path}: {constant} has no row" for path, constant in sorted(known - set(listed))]
    out += [f"{path} {constant}: there is no such constant" for path, constant in sorted(set(listed) - known)]
    out += [f"{path} {constant}: two rows" for path, constant in sorted(set(listed)) if listed.count((path, constant)) > 1]
    for path, constant, cell in rows:
        test = re.fullmatch(r'"(.*)"', cell)
        if test and test.group(1) not in named:
            out.append(f"{path} {constant}: no test is named {cell}")
        if not test and not re.fullmatch(r"–( .+)?", cell):
            out.append(f"{path} {constant}: neither a test nor –: {cell}")
        if cell == "–" and (path, constant) in needing:
            out.append(f"{path} {constant}: no test, and no reason why")
    return out


def main() -> int:
    page = (ROOT / "docs/limits.md").read_text()
    found = faults(page)
    for fault in found:
        print(f"docs/limits.md: {fault}")
    return 1 if found or not constants() else 0


if __name__ == "__main__":
    sys.exit(main())
