#!/usr/bin/env python3
"""Deliberate faults: each line of tests/mutants/mutants.toml changes one place that a promise rests on, and the
test that it names must fail.

    mutants.py                  all of them, in a work tree of their own (build/mutants)
    mutants.py WORD ...         only those whose name, file or binary contains one of the words
    mutants.py --list           names, files, tests
    mutants.py --check          only whether each change still applies and each test still exists

The work tree shows the last commit: what is not committed is not tried. BECKON_MUTANT_JOBS bounds how many compilers
run at a time. Exit 1 if a fault survived, did not compile, or does not apply.
"""

import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIST = "tests/mutants/mutants.toml"
TREE = ROOT / "build/mutants"
BUILD = TREE / "build/release"
TEST_SECONDS = 300


def mutants(words: list[str]) -> list[dict]:
    every = tomllib.loads((ROOT / LIST).read_text())["mutant"]
    if not words:
        return every
    return [m for m in every if any(w in " ".join((m["name"], m["file"], m["binary"])) for w in words)]


def test_names() -> set[str]:
    """The names of all test cases, as Catch joins them from the pieces of their literals."""
    case = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
    names = set()
    for file in (ROOT / "tests").rglob("*_test.cpp"):
        for pieces in case.findall(file.read_text()):
            names.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', pieces)))
    return names


def faults_of_list(chosen: list[dict]) -> list[str]:
    names, faults = test_names(), []
    for mutant in chosen:
        count = (ROOT / mutant["file"]).read_text().count(mutant["find"])
        if count != 1:
            faults.append(f'"{mutant["name"]}": its text occurs {count} times in {mutant["file"]}')
        if mutant["test"] not in names:
            faults.append(f'"{mutant["name"]}": there is no test "{mutant["test"]}"')
    return faults


def run(*command: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, text=True, capture_output=True, check=False, **options)


def must(*command: str, **options) -> None:
    done = run(*command, **options)
    if done.returncode != 0:
        sys.exit(f"mutants: {' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def prepare() -> None:
    if TREE.exists():
        must("git", "-C", str(TREE), "checkout", "--quiet", "--force", "--detach", commit())
    else:
        must("git", "-C", str(ROOT), "worktree", "prune")
        must("git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(TREE), commit())
    if not (BUILD / "build.ninja").exists():
        must("cmake", "--preset", "release", cwd=TREE)


def commit() -> str:
    return run("git", "-C", str(ROOT), "rev-parse", "HEAD").stdout.strip()


def build(binary: str) -> subprocess.CompletedProcess:
    environment = dict(os.environ, CCACHE_NOHASHDIR="1", CCACHE_BASEDIR=str(TREE))
    jobs = os.environ.get("BECKON_MUTANT_JOBS")
    return run("ninja", "-C", str(BUILD), *(["-j", jobs] if jobs else []), binary, env=environment)


def passes(binary: str, test: str) -> bool:
    path = next(p for p in (BUILD / "tests").rglob(binary) if p.is_file() and os.access(p, os.X_OK))
    name = test.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[")  # Catch's own syntax
    try:
        done = run(str(path), name, cwd=path.parent, timeout=TEST_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and "No test cases matched" not in done.stdout + done.stderr


def attempt(mutant: dict) -> str:
    """What became of it: "killed" is what is wanted."""
    file = TREE / mutant["file"]
    sound = file.read_text()
    file.write_text(sound.replace(mutant["find"], mutant["replace"]))
    try:
        built = build(mutant["binary"])
        if built.returncode != 0:
            return "does not compile:\n" + "\n".join(
                line for line in built.stdout.splitlines() if "error" in line)[:2000]
        return "SURVIVED" if passes(mutant["binary"], mutant["test"]) else "killed"
    finally:
        file.write_text(sound)


def sound_tests_pass(chosen: list[dict]) -> list[str]:
    """Without a fault each named test passes, or its failing would prove nothing."""
    faults = []
    for binary in sorted({m["binary"] for m in chosen}):
        must_build = build(binary)
        if must_build.returncode != 0:
            sys.exit(f"mutants: {binary} does not build\n{must_build.stdout[-4000:]}")
        for test in sorted({m["test"] for m in chosen if m["binary"] == binary}):
            if not passes(binary, test):
                faults.append(f'{binary}: "{test}" fails without any fault')
    return faults


def main(arguments: list[str]) -> int:
    words = [a for a in arguments if not a.startswith("-")]
    if unknown := [a for a in arguments if a not in ("--list", "--check", *words)]:
        print(__doc__ if unknown == ["--help"] else f"mutants: unknown option {unknown[0]}\n\n{__doc__}")
        return 0 if unknown == ["--help"] else 2
    chosen = mutants(words)
    if "--list" in arguments:
        for m in chosen:
            print(f'{m["name"]}\n    {m["file"]}; {m["binary"]}: {m["test"]}')
        return 0
    faults = faults_of_list(chosen)
    if faults or "--check" in arguments:
        print("\n".join(faults) or f"mutants: all {len(chosen)} apply, and their tests exist")
        return 1 if faults else 0
    began = time.monotonic()
    prepare()
    faults = sound_tests_pass(chosen)
    for fault in faults:
        print("FAILED  " + fault, flush=True)
    for mutant in sorted(chosen, key=lambda m: m["file"]):
        outcome = attempt(mutant)
        if outcome != "killed":
            faults.append(mutant["name"])
        print(f'{"ok" if outcome == "killed" else "FAILED":7} {outcome:9} {mutant["name"]}', flush=True)
    print(f"mutants: {len(chosen) - len(faults)} of {len(chosen)} killed, in {time.monotonic() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
