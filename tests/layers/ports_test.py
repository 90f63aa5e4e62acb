#!/usr/bin/env python3
"""Every port that has a setting is in the table of ports and attacks of tests/e2e/ports.mjs, and each place that listens belongs
to one of them."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTING = re.compile(r"^\| `(\w+\.\w*port)` \|", re.M)
ROW = re.compile(r"^    '(\w+\.\w*port)': \{", re.M)
# All code that listens. A new place must be entered here, with the ports that it serves.
LISTENS = {
    "src/net/http/http_server.cpp": {"endpoint.port", "retry.port", "console.port", "ops.port"},
    "src/edge/fronts.cpp": {"edge.port"},
    "src/edge/link/links.cpp": {"edge.link_port"},
}
SERVERS = {  # who makes an HttpServer
    "src/ingest/endpoint.cpp": "endpoint.port",
    "src/retry/role/role.cpp": "retry.port",
    "src/console/web/web_server.cpp": "console.port",
    "src/ops/ops_server.cpp": "ops.port",
}
TOOLS = {"src/tools/webhooks/receiver.cpp"}  # `beckon webhooks listen`: for a developer, while it runs
TRIES = {"src/app/roles/start_checks.cpp"}  # it looks whether a port is free, and serves nobody
CALLS = re.compile(r"\blisten_shared\(|(?<![\w:])::listen\(")
MAKES = re.compile(r"\bHttpServer(?:Options)?\b")


def sources():
    for path in sorted((ROOT / "src").rglob("*.cpp")):
        yield path.relative_to(ROOT).as_posix(), path.read_text()


def faults():
    settings = set(SETTING.findall((ROOT / "docs/configuration.md").read_text()))
    rows = set(ROW.findall((ROOT / "tests/e2e/ports.mjs").read_text()))
    for one in sorted(settings - rows):
        yield f"tests/e2e/ports.mjs has no row for {one}"
    for one in sorted(rows - settings):
        yield f"tests/e2e/ports.mjs: there is no setting {one}"
    for name, text in sources():
        if CALLS.search(text) and name not in {*LISTENS, *TRIES, "src/net/listener.cpp"}:
            yield f"{name} listens: name its port in tests/layers/ports_test.py and in tests/e2e/ports.mjs"
        if MAKES.search(text) and name not in {*SERVERS, *TOOLS} and not name.startswith("src/net/http/"):
            yield f"{name} serves HTTP: name its port in tests/layers/ports_test.py and in tests/e2e/ports.mjs"
    for name, ports in [*LISTENS.items(), *((name, {port}) for name, port in SERVERS.items())]:
        if not (ROOT / name).exists():
            yield f"tests/layers/ports_test.py: there is no {name}"
        for one in sorted(ports - settings):
            yield f"tests/layers/ports_test.py: there is no setting {one}"


found = list(faults())
for fault in found:
    print(fault)
if not found:
    print("ports: every port is attacked, or says where")
sys.exit(1 if found else 0)
