#!/usr/bin/env python3
"""Says what the last builds of a tree spent their time on, for `./dev build --times`.

    build_times.py BUILD

Prints the twenty sources that took longest, and the twenty headers of ours whose change compiles most again, in seconds
of one processor as ninja measured them. What came from ccache counts with the time that fetching it took: empty the
cache (or set CCACHE_DISABLE=1) and build anew for figures of the compiler alone.
"""
import os
import pathlib
import subprocess
import sys

SHOWN = 20


def seconds_of(build: pathlib.Path) -> dict[str, float]:
    """Of each output, what its last build took."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines():
        if not line.startswith("#"):
            begin, end, _, output, _ = line.split("\t")
            seconds[output] = (int(end) - int(begin)) / 1000
    return seconds


def inputs_of(build: pathlib.Path) -> dict[str, set[str]]:
    """Of each object, the files that it was compiled from."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    inputs: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("    "):
            inputs[target].add(os.path.relpath(build / line.strip()))
        elif ": #deps" in line:
            target = line.split(":")[0]
            inputs[target] = set()
    return inputs


def table(title: str, rows: list[tuple[float, str]]) -> None:
    print(title)
    for seconds, what in sorted(rows, reverse=True)[:SHOWN]:
        print(f"{seconds:7.1f} s  {what}")


def main() -> None:
    build = pathlib.Path(sys.argv[1])
    seconds, inputs = seconds_of(build), inputs_of(build)
    objects = {output: time for output, time in seconds.items() if output.endswith((".o", ".gch"))}
    table("the longest to compile:", [(time, output) for output, time in objects.items()])
    again: dict[str, list[float]] = {}
    for output, files in inputs.items():
        for file in files:
            if file.startswith(("src/", "tests/")) and file.endswith(".hpp"):
                again.setdefault(file, []).append(objects.get(output, 0))
    table("\ncompiled again when a header changes:",
          [(sum(times), f"{header}  ({len(times)} objects)") for header, times in again.items()])
    links = sum(time for output, time in seconds.items() if output not in objects)
    print(f"\n{sum(objects.values()):.0f} s for {len(objects)} objects, {links:.0f} s for libraries, links and the rest")


main()
