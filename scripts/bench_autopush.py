#!/usr/bin/env python3
"""./dev bench --beside autopush: the same load on Beckon and on autopush-rs, by turns, on this machine.

    ./dev bench --beside autopush                          autoconnect and autoendpoint from PATH
    ./dev bench --beside autopush --autopush DIRECTORY     from that directory
    ./dev bench --beside autopush --autopush REPOSITORY    a git repository or a mirror of it: clones it into build/autopush, and builds it with cargo

Beckon runs as `beckon standalone`, whose log syncs each batch of writes to the disk before a 201. autopush runs as one autoconnect and one
autoendpoint on a Redis of its own, whose append-only file is synced before each answer (--redis-sync everysec: once a second), so that a 201 promises the
same on both. beckon-bench is both peers: clients with a channel each, and senders. Each load runs --rounds times on each, by turns with fresh processes; the
table has the medians. It is printed, and with --write put into docs/benchmarks.md.
"""

import argparse
import base64
import datetime
import json
import os
import pathlib
import platform
import re
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build/bench"
PAGE = ROOT / "docs/benchmarks.md"
BEGIN, END = "<!-- figures: ./dev bench --beside autopush --write -->", "<!-- end of figures -->"
PROGRAMS = ("autoconnect", "autoendpoint")
PATIENCE_S = 60


class Refused(Exception):
    pass


def say(text: str):
    print(f"==> {text}", file=sys.stderr, flush=True)


def must(*command, **options) -> str:
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, check=False, **options)
    if done.returncode != 0:
        raise Refused(f"{' '.join(str(word) for word in command)}: exit {done.returncode}")
    return done.stdout.strip()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench --beside autopush", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--autopush", help="directory of the two programs, or a git repository to build them from (PATH)")
    parser.add_argument("--rounds", type=int, default=3, help="(%(default)s)")
    parser.add_argument("--seconds", type=int, default=20, help="of each load (%(default)s)")
    parser.add_argument("--clients", type=int, default=200, help="with a channel each (%(default)s)")
    parser.add_argument("--idle", type=int, default=2000, help="clients that do nothing, whose memory is measured (%(default)s)")
    parser.add_argument("--redis-sync", choices=("always", "everysec", "none"), default="always",
                        help="appendfsync of autopush's Redis; none: it keeps nothing on the disk (%(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


# --- the programs

def build(source: str) -> tuple[pathlib.Path, str]:
    """Builds autopush from a git repository; the directory of its programs, and what was built."""
    tree = ROOT / "build/autopush"
    if not (tree / ".git").exists():
        say(f"cloning {source}")
        must("git", "clone", "--quiet", source, tree)
    commit = must("git", "-C", tree, "log", "-1", "--format=%h of %cs")
    say(f"building autopush-rs, commit {commit}")
    must("cargo", "build", "--release", "--quiet", "--locked", "--no-default-features", "--features", "redis", *(word for name in PROGRAMS for word in ("--package", name)),
         cwd=tree)
    return tree / "target/release", commit


def find_autopush(given: str | None) -> tuple[dict[str, pathlib.Path], str]:
    if given and not all((pathlib.Path(given) / name).is_file() for name in PROGRAMS):
        directory, what = build(given)
        return {name: directory / name for name in PROGRAMS}, f"commit {what}"
    where = {name: shutil.which(name, path=given) for name in PROGRAMS}
    missing = [name for name, path in where.items() if not path]
    if missing:
        raise Refused(f"{' and '.join(missing)} cannot be found: --autopush names their directory, or a git repository of autopush-rs to build them from")
    return {name: pathlib.Path(path) for name, path in where.items()}, "installed"


def ports(count: int) -> list[int]:
    """Free ones below 32768: the kernel gives ports from there on to outgoing connections."""
    while True:
        first = 20000 + secrets.randbelow(12000)
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
            return list(range(first, first + count))
        except OSError:
            continue


class Server:
    """Processes that serve clients at `websocket`."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        self.processes: dict[str, subprocess.Popen] = {}

    def start(self, name: str, *command, env: dict | None = None):
        log = open(self.directory / f"{name}.log", "w", encoding="utf-8")
        self.processes[name] = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, env=os.environ | (env or {}))

    def await_answer(self, name: str, port: int, path: str | None = None):
        """Until it takes connections, or, with a path, answers 200 there."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.processes[name].poll() is not None:
                break
            try:
                if path is None:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    return
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=1):
                    return
            except OSError:
                time.sleep(0.1)
        raise Refused(f"{name} does not answer:\n{(self.directory / f'{name}.log').read_text()[-2000:]}")

    def stop(self):
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def start_beckon(directory: pathlib.Path, given: argparse.Namespace, _programs) -> Server:
    server = Server(directory)
    endpoint, edge, ops = ports(3)
    server.start("beckon", given.binary, "standalone", "--data", directory / "data", "--endpoint-port", endpoint, "--edge-port", edge, "--ops-port", ops,
                 "--retry-port", 0, "--console-port", 0, "--log-level", "warn")
    server.await_answer("beckon", ops, "/ready")
    server.websocket = f"ws://127.0.0.1:{edge}/"
    return server


def start_autopush(directory: pathlib.Path, given: argparse.Namespace, programs: dict[str, pathlib.Path]) -> Server:
    server = Server(directory)
    redis, connect, router, endpoint = ports(4)
    server.start("redis", "redis-server", "--port", redis, "--bind", "127.0.0.1", "--dir", directory, "--save", "",
                 *(["--appendonly", "no"] if given.redis_sync == "none" else ["--appendonly", "yes", "--appendfsync", given.redis_sync]))
    server.await_answer("redis", redis)
    keys = f"[{base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()}]"
    common = {"DB_DSN": f"redis://127.0.0.1:{redis}", "HUMAN_LOGS": "false"}

    def settings(prefix: str, **own) -> dict:
        return {f"{prefix}__{name}": str(value) for name, value in (common | own).items()} | {"RUST_LOG": "error"}

    server.start("autoconnect", programs["autoconnect"], env=settings(
        "AUTOCONNECT", CRYPTO_KEY=keys, PORT=connect, ROUTER_PORT=router, ROUTER_HOSTNAME="127.0.0.1", HOSTNAME="127.0.0.1", ENDPOINT_SCHEME="http",
        ENDPOINT_HOSTNAME="127.0.0.1", ENDPOINT_PORT=endpoint, DISABLE_SENTRY="true"))
    server.start("autoendpoint", programs["autoendpoint"], env=settings(
        "AUTOEND", HOST="127.0.0.1", PORT=endpoint, ENDPOINT_URL=f"http://127.0.0.1:{endpoint}", CRYPTO_KEYS=keys, AUTH_KEYS=keys))
    server.await_answer("autoconnect", connect, "/__lbheartbeat__")
    server.await_answer("autoendpoint", endpoint, "/__lbheartbeat__")
    server.websocket = f"ws://127.0.0.1:{connect}/"
    return server


# --- the loads

def loads(given: argparse.Namespace) -> dict[str, list]:
    """Options of beckon-bench for each row, by its words."""
    common = ["--connections", given.clients, "--duration", given.seconds, "--warm-up", 5, "--body", 300]
    return {
        f"{given.idle:,} idle clients with a channel each": ["--profiles", "idle", "--idle-register", "--idle-connections", given.idle],
        "200 messages a second": [*common, "--profiles", "latency", "--rate", 200, "--senders", 64],
        "1,000 messages a second": [*common, "--profiles", "latency", "--rate", 1000, "--senders", 64],
        "64 senders that each wait for their 201": [*common, "--profiles", "saturation", "--ahead", 5, "--senders", 64],
        "256 senders that each wait for their 201": [*common, "--profiles", "saturation", "--ahead", 5, "--senders", 256],
    }


def measure(server: Server, given: argparse.Namespace, load: list, file: pathlib.Path) -> dict:
    pids = [word for name, process in server.processes.items() for word in ("--pid", f"{name}={process.pid}")]
    done = subprocess.run([str(word) for word in (given.binary.parent / "beckon-bench", server.websocket, *load, *pids, "--json-file", file)], check=False)
    if not file.exists():
        raise Refused(f"beckon-bench: exit {done.returncode}")
    report = json.loads(file.read_text())
    if "idle" not in report and (report.get("latency") or report["saturation"])["messages_per_s"] == 0:
        raise Refused(f"not one message arrived: {file}")
    return report


def numbers(report: dict) -> dict[str, float]:
    """What a row shows, of one round."""
    if "idle" in report:
        return {"KB a client": sum(one["pss_bytes_per_connection"] for one in report["idle"]["processes"]) / 1024}
    traffic = report.get("latency") or report["saturation"]
    return {
        "messages a second": traffic["messages_per_s"],
        "p50 to 201, ms": traffic["post_to_201"]["p50_ms"], "p99 to 201, ms": traffic["post_to_201"]["p99_ms"],
        "p50 to frame, ms": traffic["post_to_frame"]["p50_ms"], "p99 to frame, ms": traffic["post_to_frame"]["p99_ms"],
        "µs of CPU a message": traffic["cpu"]["us_per_message"],
        "refused": sum(traffic["refused"].values()) + traffic["unanswered"], "missing": traffic["missing"],
    }


def run_all(given: argparse.Namespace, programs: dict[str, pathlib.Path]) -> dict:
    """By load and server: the numbers of each round."""
    servers = {"Beckon": start_beckon, "autopush-rs": start_autopush}
    found: dict = {}
    for number in range(1, given.rounds + 1):
        for row, (load, words) in enumerate(loads(given).items()):
            for name, start in servers.items():
                say(f"round {number} of {given.rounds}: {load}, {name}")
                with tempfile.TemporaryDirectory(dir=OUT) as directory:
                    server = start(pathlib.Path(directory), given, programs)
                    try:
                        file = OUT / f"autopush-{row}-{name}-{number}.json"
                        found.setdefault(load, {}).setdefault(name, []).append(numbers(measure(server, given, words, file)))
                    finally:
                        server.stop()
    return found


# --- the table

def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(found: dict) -> list[str]:
    """Medians of the rounds; where a server refused or lost messages, it says so."""
    columns = ["messages a second", "p50 to 201, ms", "p99 to 201, ms", "p50 to frame, ms", "p99 to frame, ms", "µs of CPU a message", "KB a client"]
    lines = ["| load | server | " + " | ".join(columns) + " | refused, missing |", "|---|---|" + "---|" * (len(columns) + 1)]
    for load, by_server in found.items():
        for name, rounds in by_server.items():
            middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
            cells = [shown(middle[key]) if key in middle else "" for key in columns]
            lost = f"{shown(middle['refused'])}, {shown(middle['missing'])}" if "refused" in middle else ""
            lines.append(f"| {load} | {name} | " + " | ".join(cells) + f" | {lost} |")
    return lines


def machine() -> str:
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) / 2**20
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text()).group(1)
    return f"{os.cpu_count()} cores ({cpu.group(1).strip() if cpu else platform.machine()}), {memory:.0f} GiB of memory, {system}, Linux {platform.release()}"


def report(given: argparse.Namespace, what: str, found: dict) -> str:
    beckon = must(given.binary, "--version")
    redis = re.search(r"v=(\S+)", must("redis-server", "--version")).group(1)
    return "\n".join([
        f"{datetime.date.today():%Y-%m-%d}, on {machine()}; all processes and the",
        "load on the same machine.",
        f"{beckon[0].upper()}{beckon[1:]}; autopush-rs, {what}, on Redis {redis} (`appendfsync {given.redis_sync}`).",
        f"Medians of {given.rounds} rounds of {given.seconds} s, {given.clients} clients, bodies of 300 bytes.", "", *table(found)])


def main() -> int:
    given = options()
    given.binary = given.binary.resolve()
    try:
        if not shutil.which("redis-server"):
            raise Refused("redis-server is missing: ./dev setup test")
        programs, what = find_autopush(given.autopush)
        OUT.mkdir(parents=True, exist_ok=True)
        text = report(given, what, run_all(given, programs))
    except Refused as why:
        print(f"bench: {why}", file=sys.stderr)
        return 1
    print(text)
    if given.write:
        head, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
