"""openapi-valid.py FILE ...: each is a valid OpenAPI document, also by rules that the validator does not check.
Exit 1 with a line for each fault."""

import sys

import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator


def oddities(node, where=""):
    """Values that YAML reads otherwise than their author meant, and parts without a meaning in OpenAPI 3.0.3."""
    if isinstance(node, dict):
        if node.get("nullable") is True and "type" not in node:
            yield f"{where}: nullable means something only beside a type"
        for key, value in node.items():
            if not isinstance(key, str):
                yield f"{where}: the key {key!r} is no text"
            if value is None and key not in ("example", "default"):
                yield f"{where}: the key {key!r} has no value: a comma or a colon that wants quotes?"
            if key not in ("example", "examples", "default"):
                yield from oddities(value, f"{where}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from oddities(value, f"{where}/{index}")


METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
# Answers of a port to a request for any operation: it is no HTTP, has too large a header, is too slow, fails, finds no capacity.
OF_EVERY_OPERATION = {"400", "408", "431", "500", "503"}


def unnamed_answers(document):
    """Answers of a port to any operation that the document does not name there."""
    for path, operations in document["paths"].items():
        for method in METHODS & set(operations):
            missing = OF_EVERY_OPERATION - set(operations[method]["responses"])
            if missing:
                yield f"{method} {path}: its responses leave out {', '.join(sorted(missing))}"


def main(files):
    found = []
    for file in files:
        with open(file, encoding="utf-8") as text:
            document = yaml.safe_load(text)
        found += [f"{file}: {one.json_path}: {one.message[:300]}" for one in OpenAPIV30SpecValidator(document).iter_errors()]
        found += [f"{file}: {one}" for one in (*oddities(document), *unnamed_answers(document))]
    print("\n".join(found) or f"{len(files)} documents are valid")
    return 1 if found else 0


sys.exit(main(sys.argv[1:]))
