#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src/, for `./dev lint`.

    tidy.py BUILD [WORD ...]    BUILD is a built tree; WORD: only files whose path contains one

Says of each file that it is done and how long that took, and prints what was found. A file is left
out if nothing that it is made of has changed since it was last found to be clean: build/tidy holds
one stamp a file, with a digest of .clang-tidy, of the compiler's command, and of the source with
every header that it includes. Exit 1 if anything was found.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

STAMPS = pathlib.Path("build/tidy")
OUTPUT = re.compile(r" -o (\S+)")


@functools.lru_cache(maxsize=None)
def digest(path: str) -> bytes:
    return hashlib.sha256(pathlib.Path(path).read_bytes()).digest()


def inputs_of(build: pathlib.Path) -> dict[str, list[str]]:
    """What each object was compiled from, as ninja remembers it."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    inputs: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("    "):
            inputs[target].append(os.path.normpath(build / line.strip()))
        elif ": #deps" in line:
            target = line.split(":")[0]
            inputs[target] = []
    return inputs


def stamp_of(entry: dict, inputs: list[str], version: str) -> str:
    command = entry["command"].replace(" -Werror", "")  # changes nothing that clang-tidy sees
    key = hashlib.sha256((version + command).encode())
    for path in [".clang-tidy", *sorted(inputs)]:
        key.update(path.encode() + digest(path))
    return key.hexdigest()


def check(build: pathlib.Path, file: str) -> tuple[str, float]:
    """What clang-tidy finds; empty: nothing. And the seconds of it."""
    began = time.monotonic()
    done = subprocess.run(["clang-tidy", "--quiet", "-p", build, file], capture_output=True, text=True)
    failed = "" if done.returncode == 0 else done.stdout + done.stderr
    return failed, time.monotonic() - began


def main() -> int:
    build, words = pathlib.Path(sys.argv[1]), sys.argv[2:]
    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True, text=True).stdout
    sources = set(subprocess.run(["git", "ls-files", "src/*.cpp"], check=True, capture_output=True, text=True).stdout.split())
    inputs = inputs_of(build)
    stale = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = os.path.relpath(entry["file"])
        if file not in sources or (words and not any(word in file for word in words)):
            continue
        known = inputs.get(OUTPUT.search(entry["command"])[1])
        if known is None:
            sys.exit(f"tidy: {file} is not built in {build}: ./dev build")
        stamp = stamp_of(entry, known, version)
        at = STAMPS / (file.replace("/", "-") + ".stamp")
        if not at.exists() or at.read_text() != stamp:
            stale[file] = (at, stamp)
    STAMPS.mkdir(parents=True, exist_ok=True)
    print(f"tidy: {len(stale)} files to look at", flush=True)
    bad = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(check, build, file): file for file in sorted(stale)}
        for number, done in enumerate(concurrent.futures.as_completed(running), 1):
            file = running[done]
            found, seconds = done.result()
            print(f"[{number}/{len(stale)}] {file} {seconds:.0f} s", flush=True)
            if found:
                bad.append(file)
                print(found, flush=True)
            else:
                at, stamp = stale[file]
                at.write_text(stamp)
    if bad:
        print("tidy: found something in: " + " ".join(sorted(bad)))
    return 1 if bad else 0


sys.exit(main())
