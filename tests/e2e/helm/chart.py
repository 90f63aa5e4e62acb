#!/usr/bin/env python3
"""Reads {"chart", "values" or "file", "more", "versions"} as JSON, and writes what Helm makes of the chart with these values,
over which "more" is laid:

{"error"} where Helm refuses them; else {"lint": [message, …], "objects": [object, …], "notes", "faults": [sentence, …]},
where a fault is what the schema of a version of Kubernetes says of an object. (Objects that are not Kubernetes' own have no
schema here.)"""

import json
import sys

import helm_python
import kubernetes_validate
import yaml
from helm_python import chart as helm

INFORMATION = 1
FOREIGN = {"monitoring.coreos.com/v1"}


def laid_over(values, more):
    for name, value in more.items():
        values[name] = laid_over(values.get(name, {}), value) if isinstance(value, dict) else value
    return values


def main():
    asked = json.load(sys.stdin)
    values = asked.get("values")
    if values is None:
        with open(asked["file"]) as file:
            values = yaml.safe_load(file)
    values = laid_over(values, asked.get("more", {}))
    try:
        report = helm.lint(asked["chart"], values, strict=True)
        chart = helm.Chart.load(asked["chart"])
        chart.validate_schema(values)
        rendered = chart.render(values, name="push", namespace="web")
    except helm_python.HelmError as error:
        return {"error": str(error)}
    notes = rendered.pop("beckon/templates/NOTES.txt")
    objects = [one for text in rendered.values() for one in yaml.safe_load_all(text) if one]
    faults = []
    for version in asked.get("versions", []):
        for one in objects:
            if one["apiVersion"] in FOREIGN:
                continue
            try:
                kubernetes_validate.validate(one, version, strict=True)
            except Exception as error:  # its errors have no class in common
                where = ".".join(str(part) for part in getattr(error, "path", []))
                faults.append(f"Kubernetes {version}: {one['kind']} {one['metadata']['name']}: {where}: {error.message}")
    lint = [message["error"] for message in report["messages"] if message["severity"] > INFORMATION] + report["errors"]
    return {"lint": lint, "objects": objects, "notes": notes, "faults": faults}


json.dump(main(), sys.stdout)
