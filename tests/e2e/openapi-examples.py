#!/usr/bin/env python3
"""Holds every example of schemas/openapi.yaml to the schema that it stands beside.

openapi-examples.py FILE, with schemathesis' own Python (it brings both modules). Schemathesis
sends the examples of requests; nothing else looks at those of replies.
"""
import sys

import jsonschema_rs
import yaml


def as_json_schema(node):
    """OpenAPI 3.0 differs from JSON Schema in `nullable`; the text is passed on as it stands else."""
    if isinstance(node, list):
        return [as_json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {key: as_json_schema(value) for key, value in node.items() if key != "nullable"}
    if node.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    return schema


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = as_json_schema(yaml.safe_load(file))
    faults = []
    checked = 0

    def check(schema, example, where):
        nonlocal checked
        checked += 1
        # References are resolved against the whole document.
        whole = {"components": document["components"], **schema}
        for error in jsonschema_rs.Draft202012Validator(whole).iter_errors(example):
            faults.append(f"{where}: {error.message}")

    def walk(node, where):
        if isinstance(node, list):
            for i, item in enumerate(node):
                walk(item, f"{where}[{i}]")
        elif isinstance(node, dict):
            if "schema" in node:
                examples = [node["example"]] if "example" in node else []
                examples += [named["value"] for named in node.get("examples", {}).values()]
                for example in examples:
                    check(node["schema"], example, where)
            for key, value in node.items():
                if key not in ("example", "examples"):
                    walk(value, f"{where}.{key}")

    def errors(node, where, status=None):
        """The example of an error names its own status, and no reply goes without an example."""
        if isinstance(node, list):
            for i, item in enumerate(node):
                errors(item, f"{where}[{i}]", status)
        elif isinstance(node, dict):
            media = node.get("application/json")
            if media and media.get("schema") == {"$ref": "#/components/schemas/Error"}:
                given = [media["example"]] if "example" in media else []
                given += [named["value"] for named in media.get("examples", {}).values()]
                if not given:
                    faults.append(f"{where}: no example")
                for example in given:
                    if status and example["code"] != int(status):
                        faults.append(f"{where}: code {example['code']} under status {status}")
            for key, value in node.items():
                errors(value, f"{where}.{key}", key if key[:1].isdigit() else status)

    walk(document, "openapi")
    errors(document["paths"], "paths")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{checked} examples, {len(faults)} faults")
    return 1 if faults or checked == 0 else 0


sys.exit(main())
