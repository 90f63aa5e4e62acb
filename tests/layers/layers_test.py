#!/usr/bin/env python3
"""Holds the `#include` lines under src/ to the layers of the architecture, and keeps every header
self-contained (each is compiled alone by tests/layers/CMakeLists.txt)."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# folder: (folders of ours, third-party header prefixes). ARCHITECTURE.md explains the table. A name with "/" is a part of a
# folder: a module (it ends in "/") or a header.
C_LIBRARIES = {
    "openssl": "openssl/", "json": "nlohmann/", "expected": "tl/", "rdkafka": "librdkafka/",
    "rocksdb": "rocksdb/", "httplib": "httplib.h", "prometheus": "prometheus/", "boost": "boost/",
    "lws": "libwebsockets.h", "ev": "ev.h", "simdjson": "simdjson.h", "curl": "curl/",
    "cli11": "CLI/", "toml": "toml++/", "jemalloc": "jemalloc/",
}
ALL = set(C_LIBRARIES)
# Allowed everywhere: core/result.hpp is made of it.
EVERYWHERE = {"expected"}
BELOW_TOOLS = {"core", "records", "fetch", "rocks", "log", "fold", "cluster", "store", "ops", "reliability", "net", "ingest", "edge",
               "retry", "client", "inspect", "console"}
LAYERS = {
    "core": (set(), {"openssl", "json"}),
    "records": ({"core"}, {"json"}),
    "fetch": ({"core"}, {"curl"}),
    "bridge": ({"core", "records"}, {"json"}),
    "rocks": ({"core"}, {"rocksdb"}),
    "log": ({"core", "records"}, {"json"}),
    "log/kafka": ({"core", "log"}, {"rdkafka", "json"}),
    "log/embedded": ({"core", "log", "rocks"}, {"rocksdb"}),
    "log/local": ({"core", "log"}, set()),  # common code of embedded and the tests' memory log
    "fold": ({"core", "records", "log"}, set()),
    "cluster": ({"core", "records", "log", "fold"}, {"json"}),
    "store": ({"core", "records", "rocks"}, {"rocksdb"}),
    "store/rows": ({"core", "records"}, {"rocksdb"}),
    "store/tables": ({"core", "rocks"}, {"rocksdb"}),
    "store/folds": ({"core", "records", "rocks"}, {"rocksdb", "openssl"}),
    "ops": ({"core", "net"}, {"prometheus", "json"}),
    "net": ({"core"}, {"openssl"}),
    "net/http": ({"core"}, {"openssl"}),
    "reliability": ({"core", "log", "cluster", "fold", "store", "rocks", "ops", "net"},
                    {"prometheus"}),
    "reliability/history": ({"core", "records"}, {"simdjson"}),
    "reliability/home": ({"core", "records", "log", "fold", "store", "rocks"}, {"rocksdb"}),
    "reliability/totals": ({"core", "records", "log", "fold"}, {"json"}),
    "reliability/tracking": ({"core", "log", "fold", "net", "ops"}, set()),
    "ingest": ({"core", "records", "fetch", "bridge", "rocks", "log", "fold", "store", "ops", "net"}, {"json"}),
    "ingest/api": ({"core", "log", "net"}, set()),
    "ingest/call": ({"core", "records", "log", "fold", "net", "ops"}, set()),
    "ingest/metrics": ({"core", "net", "ops"}, {"prometheus"}),
    "ingest/receipts": ({"core", "records", "fetch", "log", "fold", "net"}, {"json"}),
    "ingest/registration": ({"core", "records", "log", "store"}, {"json"}),
    "ingest/send": ({"core", "records", "bridge", "log", "net", "store"}, {"json"}),
    "ingest/vapid": ({"core", "fetch", "net"}, {"openssl", "json"}),
    "ingest/view": ({"core", "records", "log", "fold", "store"}, {"prometheus"}),
    "edge": ({"core", "records", "rocks", "log", "fold", "cluster", "store", "ops", "net"}, {"openssl", "json", "prometheus"}),
    "edge/broadcast": ({"core", "records", "fetch", "log", "fold"}, {"json"}),
    "edge/front": ({"core", "ops"}, {"prometheus"}),
    "edge/home": ({"core", "records", "log", "fold", "cluster", "store", "ops"}, {"prometheus"}),
    "edge/home/delivery": ({"core", "records", "log", "fold", "store"}, {"prometheus"}),
    "edge/home/registration": ({"core", "records", "log", "fold", "store"}, set()),
    "edge/home/session": ({"core", "records", "store"}, set()),
    "edge/link": ({"core", "net"}, {"ev", "openssl"}),
    "edge/loop": ({"core", "net"}, {"ev"}),
    "edge/protocol": ({"core", "records", "store"}, {"simdjson"}),
    "edge/switchboard": ({"core"}, set()),
    "edge/ws": ({"core", "net", "ops"}, {"lws", "ev", "openssl", "prometheus"}),
    "retry": ({"core", "records", "fetch", "bridge", "log", "fold", "cluster", "store", "ops", "net"}, {"curl", "openssl", "json", "prometheus"}),
    "retry/event/filter": ({"core"}, {"json", "simdjson"}),
    "inspect": ({"core", "records", "rocks", "log", "fold", "store", "ops", "edge", "reliability"}, {"json"}),
    "console": ({"core", "records", "log", "fold", "cluster", "ops", "net", "client", "inspect", "reliability",
                 "retry/api/owner_token.hpp", "retry/api/problem.hpp", "retry/webhook/webhook.hpp"}, {"json"}),
    "console/canary": ({"core", "client", "ops"}, {"json"}),
    "console/cluster": ({"core", "records", "log", "fold", "cluster"}, {"json"}),
    "console/lag": ({"core", "log", "ops"}, {"json"}),
    "console/overview": ({"core", "cluster"}, {"json"}),
    "console/web": ({"core", "net"}, {"json"}),
    "client": ({"core", "fetch"}, {"boost", "openssl", "json"}),
    "bench": ({"core", "client"}, {"openssl", "json", "cli11"}),
    "tools": (BELOW_TOOLS | {"app/command/", "app/config/", "app/installation/", "app/process/", "app/client_options.hpp",
                             "app/command_line.hpp", "app/exit_codes.hpp"}, ALL),
    "app": (BELOW_TOOLS, ALL),
    "main": (BELOW_TOOLS | {"app", "tools"}, ALL),
}
# The modules of a folder are held apart. Each may include its own headers and these of its folder (a
# name that ends in "/" is a whole module); the folder itself puts its modules together.
MODULES = {
    "edge/loop": set(),
    "edge/protocol": set(),
    "edge/switchboard": {"edge/loop/", "edge/protocol/"},
    "edge/broadcast": {"edge/protocol/"},
    "edge/front": {"edge/edge_options.hpp", "edge/protocol/", "edge/switchboard/messages.hpp"},
    "edge/ws": {"edge/edge_options.hpp", "edge/front/sockets.hpp", "edge/loop/", "edge/protocol/",
                "edge/switchboard/messages.hpp"},
    "edge/link": {"edge/edge_options.hpp", "edge/loop/", "edge/protocol/", "edge/switchboard/messages.hpp"},
    "edge/home": {"edge/edge_options.hpp", "edge/loop/", "edge/protocol/", "edge/switchboard/"},
    "edge/home/session": {"edge/edge_options.hpp", "edge/protocol/", "edge/switchboard/"},
    "edge/home/delivery": {"edge/home/part_context.hpp", "edge/home/session/", "edge/protocol/"},
    "edge/home/registration": {"edge/home/delivery/", "edge/home/part_context.hpp", "edge/home/session/", "edge/protocol/",
                               "edge/switchboard/"},
    "ingest/api": set(),
    "ingest/vapid": {"ingest/api/"},
    "ingest/metrics": {"ingest/api/", "ingest/vapid/vapid.hpp"},
    "ingest/view": {"ingest/metrics/"},
    "ingest/receipts": {"ingest/api/"},
    "ingest/call": {"ingest/api/", "ingest/metrics/", "ingest/receipts/", "ingest/vapid/", "ingest/view/"},
    "ingest/send": {"ingest/api/", "ingest/call/", "ingest/receipts/", "ingest/vapid/"},
    "ingest/registration": {"ingest/api/", "ingest/call/"},
    "reliability/history": set(),
    "reliability/totals": {"reliability/history/"},
    "reliability/home": {"reliability/history/", "reliability/totals/"},
    "reliability/tracking": {"reliability/history/", "reliability/totals/"},
    "store/rows": {"store/types.hpp"},
    "store/tables": {"store/types.hpp", "store/database.hpp", "store/rows/"},
    "store/folds": {"store/types.hpp", "store/types.hpp", "store/database.hpp",
                    "store/partition_store.hpp", "store/rows/",
                    "store/tables/"},
    "console/canary": {"console/web/live_pages.hpp"},
    "console/cluster": {"console/lag/lag_table.hpp"},
    "console/lag": set(),
    "console/overview": {"console/canary/canary_stats.hpp", "console/cluster/", "console/lag/", "console/web/live_pages.hpp"},
    "console/web": set(),
    "console/pages": {"console/cluster/", "console/lag/", "console/overview/facts.hpp", "console/web/"},
    "inspect/backup": {"inspect/log/"},
    "inspect/delivery": {"inspect/log/"},
    "inspect/log": set(),
    "inspect/store": {"inspect/log/", "inspect/trace/"},
    "inspect/totals": set(),
    "inspect/trace": set(),
    "app/config": {"app/command_line.hpp"},
    "app/process": {"app/config/", "app/exit_codes.hpp"},
    "app/installation": {"app/config/", "app/process/process.hpp", "app/process/housekeeping.hpp"},
    "app/command": {"app/process/process.hpp", "app/exit_codes.hpp"},
    "net": set(),
    "net/http": {f"net/{name}.hpp" for name in (
        "connection_limiter", "descriptor", "io_loop", "listener", "own_descriptors", "peer_address",
        "proxy_header", "tls")},
}
# The commands. Each may include its own folder, the list of all commands, and these.
TOOLS = {
    "running": set(),
    "api": set(), "keys": set(), "push": set(),
    "reference": set(), "reliability": set(),
    "backup": {"running"}, "broadcasts": {"running"}, "cluster": {"running"},
    "doctor": {"running"}, "lag": {"running"}, "message": {"running"},
    "topics": {"running"},
    "dead": {"api"},
    "webhooks": {"api", "dead"},
    "demo": {"api", "webhooks"},
    "replay": {"dead", "running", "subscriptions"},
    "senders": {"running", "subscriptions"},
    "subscriptions": {"running"},
}
for tool, others in TOOLS.items():
    LAYERS[f"tools/{tool}"] = LAYERS["tools"]
    MODULES[f"tools/{tool}"] = {"tools/commands.hpp"} | {f"tools/{other}/" for other in others}
for module in ("config", "process"):
    LAYERS[f"app/{module}"] = (BELOW_TOOLS, ALL)
# The only files that may include Boost: its headers cost more to compile than all of ours.
BOOST_FILES = {"net/io_loop.cpp", "net/http/request_parser.cpp"}
# JSON is printed in one place, which does not throw at bytes that others chose, and parsed there: each source with a
# parser of its own takes two seconds longer to compile.
JSON_TEXT = "core/json_text.cpp"
PRINTS_JSON = re.compile(r"(\.|->)\s*dump\s*\(")
PARSES_JSON = re.compile(r"[Jj]son::parse\s*\(")
# Files that parse pieces of JSON themselves, or that are called during a parse.
OTHER_PARSERS = {"core/json_parts.cpp", "ingest/registration/registration.cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SYSTEM = re.compile(r"^(sys/|netinet/|arpa/|net/|linux/)?[a-z_0-9]+(\.h)?$")


def layer_of(path: pathlib.PurePath) -> str:
    """The innermost folder that the table names; each module of `log` must have a row."""
    folders = ["/".join(path.parts[:depth]) for depth in range(len(path.parts) - 1, 0, -1)]
    if path.parts[0] == "log":
        return folders[0]
    return next((folder for folder in folders if folder in LAYERS), path.parts[0])


def parts_of_folders(names: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if "/" in name)


def leaves_its_module(own: str, target: str) -> bool:
    """Whether a file of module `own` includes something of its folder that is not the module's."""
    if own not in MODULES or target.split("/")[0] != own.split("/")[0]:
        return False
    return not target.startswith((own + "/", *MODULES[own]))


def faults_in(file: pathlib.Path) -> list[str]:
    where = file.relative_to(ROOT / "src" if file.is_relative_to(ROOT / "src") else ROOT)
    own = layer_of(where)
    if own not in LAYERS:
        return [f"{file.relative_to(ROOT)}: folder '{own}' is not in the table of layers_test.py"]
    ours, third = LAYERS[own]
    found = []
    text = file.read_text()
    if str(where) != JSON_TEXT:
        for match in PRINTS_JSON.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            found.append(f"{file.relative_to(ROOT)}:{number}: print JSON with core::json_text(), which never throws")
    if str(where) not in {JSON_TEXT, *OTHER_PARSERS}:
        for match in PARSES_JSON.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            found.append(f"{file.relative_to(ROOT)}:{number}: parse JSON with core::parse_json()")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        if quote == '"':
            other = target.split("/")[0]
            if "/" not in target:
                found.append(f'{file.relative_to(ROOT)}:{number}: "{target}": write the path from src/')
            elif other not in ours | {own.split("/")[0]} and not target.startswith(parts_of_folders(ours)):
                found.append(f"{file.relative_to(ROOT)}:{number}: {own} may not include {other} ({target})")
            elif leaves_its_module(own, target):
                found.append(f"{file.relative_to(ROOT)}:{number}: the module {own} may not include {target}")
            continue
        library = next((n for n, p in C_LIBRARIES.items() if target.startswith(p)), None)
        if library == "boost" and str(where) in BOOST_FILES:
            continue
        if library and library not in third | EVERYWHERE:
            found.append(f"{file.relative_to(ROOT)}:{number}: {own} may not include {library} (<{target}>)")
        if not library and not SYSTEM.match(target):
            found.append(f"{file.relative_to(ROOT)}:{number}: <{target}> belongs to no library of the table")
    return found


def watched_globs() -> list[str]:
    """`ninja -n` stops at the step that such a glob adds, so that `./dev` could not say how long a build takes."""
    files = [*ROOT.glob("*/**/CMakeLists.txt"), *ROOT.glob("cmake/*.cmake")]
    watched = [file for file in files if "build" not in file.relative_to(ROOT).parts
               and re.search(r"GLOB(_RECURSE)?[^)]*CONFIGURE_DEPENDS", file.read_text())]
    return [f"{file.relative_to(ROOT)}: a file(GLOB) without CONFIGURE_DEPENDS, or a list" for file in watched]


def newer_than_node_18() -> list[str]:
    """Debian 12 has Node.js 18, and whoever develops here often a newer one: what it lacks of the ways to name a file."""
    files = [p for p in (ROOT / "tests/e2e").rglob("*.mjs") if "node_modules" not in p.parts]
    return [f"{file.relative_to(ROOT)}: import.meta.dirname needs Node.js 20, and Debian 12 has 18: ROOT of beckon.mjs"
            for file in files if re.search(r"import\.meta\.(dirname|filename)", file.read_text())]


def main() -> int:
    files = sorted(p for top in ("src", "bench") for p in (ROOT / top).rglob("*.?pp"))
    faults = [fault for file in files for fault in faults_in(file)] + watched_globs() + newer_than_node_18()
    print("\n".join(faults) or f"layers: {len(files)} files keep to the table")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
