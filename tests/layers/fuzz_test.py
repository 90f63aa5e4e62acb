#!/usr/bin/env python3
"""Each fuzz target of tests/fuzz is listed and has seeds, and every port has a target for its requests."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUZZ = ROOT / "tests/fuzz"
SETTING = re.compile(r"^\| `(\w+\.\w*port)` \|", re.M)
# A new port must be entered here, with the targets that read its requests.
PORTS = {
    "endpoint.port": {"request", "authorization", "crypto_key", "jwt", "registration", "receipts", "matrix"},
    "edge.port": {"websocket", "handshake", "client_message", "proxy_header"},
    "retry.port": {"retry_api", "webhook_body", "event"},
    "console.port": {"console"},
    "ops.port": {"ops"},
    "edge.link_port": set(),  # its peers have proved by TLS that they have the key ring before they say anything
}


def faults():
    text = (FUZZ / "CMakeLists.txt").read_text()
    targets = set(re.search(r"set\(targets\s([^)]*)\)", text)[1].split())
    for one in sorted(targets ^ {path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.cpp")}):
        yield f"fuzz_{one} is not both a source and a target"
    for one in sorted(targets):
        if not any((FUZZ / "corpus" / one).glob("*")):
            yield f"fuzz_{one} has no seeds"
    settings = set(SETTING.findall((ROOT / "docs/configuration.md").read_text()))
    for one in sorted(settings ^ set(PORTS)):
        yield f"{one} is not both a setting and in PORTS of tests/layers/fuzz_test.py"
    for port, wanted in PORTS.items():
        for one in sorted(wanted - targets):
            yield f"{port} has no fuzz target {one}"


def main():
    found = list(faults())
    print("\n".join(found) or "fuzz: every target has seeds, and every port has a target")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
