#!/usr/bin/env python3
"""Every query of the dashboards in packaging/grafana asks for metrics and labels that exist, and promtool, where it is
installed, can read it. The dashboards are what boards.py writes, and each panel says what it shows."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARDS = ROOT / "packaging/grafana/dashboards"
ROW = re.compile(r"^\| `(\w+)(?:\{([\w,]*)\})?` \| (\w+) \|", re.M)
# Of Prometheus and of the scrape, not of ours.
OTHER_LABELS = {"instance", "job", "le", "role"}
OTHER_SERIES = re.compile(r"\b(?:up|ALERTS)\{")
SERIES = re.compile(r"\b((?:beckon|process|kafka|kminion)_\w+)(?:\{([^}]*)\})?")
BY = re.compile(r"\bby \(([\w, ]+)\)")
SOURCE = "beckon"


def known() -> dict:
    """Name -> labels, histograms by the names of their series."""
    found = {}
    for name, labels, kind in ROW.findall((ROOT / "docs/metrics.md").read_text()):
        labels = set(labels.split(",")) - {""}
        found[name] = labels
        if kind == "histogram":
            found |= {f"{name}_{part}": labels for part in ("bucket", "sum", "count")}
    return found


def queries(board: dict):
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
            if target["datasource"]["uid"] != SOURCE:
                yield panel["title"], "a data source that nobody provisions"
    for variable in board["templating"]["list"]:
        label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
        yield variable["name"], f"sum by ({label.group(2)}) ({label.group(1)})"


def faults_in(expr: str, metrics: dict):
    used = set()
    for name, matchers in SERIES.findall(expr):
        if name not in metrics:
            yield f"there is no metric {name}"
            continue
        used |= metrics[name]
        for label in re.findall(r"(\w+)\s*=", matchers):
            if label not in metrics[name] | OTHER_LABELS:
                yield f"{name} has no label {label}"
    if not SERIES.search(expr) and not OTHER_SERIES.search(expr):
        yield "it asks for nothing of ours"
    for labels in BY.findall(expr):
        for label in re.split(r", *", labels):
            if label not in used | OTHER_LABELS:
                yield f"by ({label}): none of its metrics has that label"


def faults_of(panel: dict):
    """What a person would miss."""
    defaults = panel["fieldConfig"]["defaults"]
    if not panel["description"].endswith("."):
        yield "it has no description"
    if not defaults.get("unit"):
        yield "it has no unit"
    if panel["type"] == "stat" and "thresholds" not in defaults:
        yield "it has no thresholds"


def unreadable(exprs: list):
    """What promtool cannot parse: as rules, since it reads no query alone."""
    promtool = shutil.which("promtool")
    if not promtool:
        return
    rules = [{"record": f"query:{i}", "expr": re.sub(r"\$\w+", ".*", expr)} for i, expr in enumerate(exprs)]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "dashboards", "rules": rules}]}, file)  # JSON is YAML
        file.flush()
        done = subprocess.run([promtool, "check", "rules", file.name], capture_output=True, text=True)
    if done.returncode != 0:
        yield f"promtool: {done.stdout}{done.stderr}"


def main() -> int:
    metrics, exprs, faults, uids = known(), [], [], set()
    for file in sorted(DASHBOARDS.glob("*.json")):
        board = json.loads(file.read_text())
        if board["uid"] in uids:
            faults.append(f"{file.name}: another dashboard has its uid")
        uids.add(board["uid"])
        for panel in board["panels"]:
            faults += [f"{file.name}, {panel['title']}: {fault}" for fault in faults_of(panel)]
        if not {"role", "instance"} <= {variable["name"] for variable in board["templating"]["list"]}:
            faults.append(f"{file.name}: it has no variables for role and instance")
        for title, expr in queries(board):
            exprs.append(expr)
            faults += [f"{file.name}, {title}: {fault}" for fault in faults_in(expr, metrics)]
    faults += unreadable(exprs)
    done = subprocess.run([sys.executable, ROOT / "packaging/grafana/boards.py", "--check"], capture_output=True, text=True)
    faults += [done.stdout + done.stderr] if done.returncode else []
    print("\n".join(faults) or f"dashboards: {len(exprs)} queries of {len(uids)} dashboards ask for what exists")
    return 1 if faults or len(uids) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
