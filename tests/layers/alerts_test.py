#!/usr/bin/env python3
"""The alert rules of packaging/prometheus ask for metrics that exist, and docs/operations/monitoring.md says what to do about each;
promtool, where it is installed, finds no fault in them. Each has a test in which it fires and one in which it does not, a fault of real
processes for which it fires, and a panel of a dashboard for each metric that it asks for."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "packaging" / "prometheus"
DASHBOARDS = ROOT / "packaging" / "grafana" / "dashboards"
NAMES = set(re.findall(r'"((?:beckon|process|kafka|kminion)_\w+)"', (ROOT / "src/ops/metric_names.hpp").read_text()))


def faults():
    rules = (RULES / "beckon.rules.yml").read_text()
    for name in sorted(set(re.findall(r"\b((?:beckon|process)_[a-z_]+)", rules))):
        if name not in NAMES and re.sub(r"_(bucket|sum|count)$", "", name) not in NAMES:
            yield f"the alert rules ask for {name}, which does not exist"
    runbook = (ROOT / "docs/operations/monitoring.md").read_text()
    for alert in re.findall(r"- alert: (\w+)", rules):
        if f"\n| `{alert}` |" not in runbook:
            yield f"docs/operations/monitoring.md#alerts does not say what to do about {alert}"
    real = (ROOT / "tests/e2e/alerts.mjs").read_text()
    times = runbook.split("### Who is paged, and when")[1].split("###")[0]
    tests = (RULES / "beckon.rules.test.yml").read_text()
    shown = "".join(path.read_text() for path in DASHBOARDS.glob("*.json"))
    for alert, rule in re.findall(r"- alert: (\w+)\n(.*?)(?=\n      - alert|\Z)", rules, re.S):
        if not re.search(rf"alertname: {alert}(?:,|\n) +exp_alerts: \[\]", tests):
            yield f"beckon.rules.test.yml has no case in which {alert} does not fire"
        if not re.search(rf"alertname: {alert}\n +exp_alerts:\n +- exp_labels", tests):
            yield f"beckon.rules.test.yml has no case in which {alert} fires"
        if f"'{alert}'" not in real:
            yield f"tests/e2e/alerts.mjs makes no fault for which {alert} fires"
        if f"`{alert}`" not in times:
            yield f"docs/operations/monitoring.md#who-is-paged-and-when has no fault for which {alert} fires"
        expr = rule.split("for:")[0].split("labels:")[0]
        for name in sorted(set(re.findall(r"\b((?:beckon|process)_[a-z_]+)", expr))):
            if name not in shown:
                yield f"no dashboard shows {name}, which {alert} asks for"
    promtool = shutil.which("promtool")
    commands = ["check config prometheus.yml", "check rules beckon.rules.yml", "test rules beckon.rules.test.yml"]
    for command in commands if promtool else []:
        done = subprocess.run([promtool, *command.split()], cwd=RULES, capture_output=True, text=True)
        if done.returncode != 0:
            yield f"promtool {command}:\n{done.stdout}{done.stderr}"


found = list(faults())
for fault in found:
    print(fault)
if not found:
    print("alerts: the rules ask for what exists")
sys.exit(1 if found else 0)
