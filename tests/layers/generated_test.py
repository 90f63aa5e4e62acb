#!/usr/bin/env python3
"""What follows from the code in other files is what the code says:

  docs/protocol/errors.md                    the table of HTTP errors, from src/ingest/api/errors.cpp
  schemas/openapi.yaml                       the sentences of errors in its examples, from src/ingest
  packaging/helm/beckon/values.schema.json   the settings that `config` takes: all of docs/configuration.md that no template decides

`--write` brings them up to date.
"""

import difflib
import http
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRITE = "tests/layers/generated_test.py --write"
PROBLEM = re.compile(r'case Problem::(\w+):\s+return \{(\d{3}),\s*(\d+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\}')
TABLE = re.compile(r"(\| status \| errno \| label in metrics \| sentence \|\n\|---\|---\|---\|---\|\n)((?:\|.*\n)+)")
EXAMPLE = re.compile(r"^(\s+example: \{ code: (\d+), errno: (\d+|null), error: )(.+?)(, message: )(.+?)(, more_info: /errors \})$", re.M)
TEXTS = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*)+')
SETTINGS = re.compile(r"^\| `([a-z0-9_.]+)` \|", re.M)
CHART_LIST = re.compile(r'("propertyNames": \{\s+"anyOf": \[\s+\{\s+"enum": \[\n)(.*?)(\n\s+\])', re.S)


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def joined(literals: str) -> str:
    """The text of the pieces of a C++ literal."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))


def problems() -> list[tuple[str, str, str, str]]:
    """Status, errno ("null": none), label and sentence of each refusal."""
    found = PROBLEM.findall(text_of("src/ingest/api/errors.cpp"))
    return [(status, "null" if errno == "0" else errno, label, joined(text)) for label, status, errno, text in found]


def errors_page(page: str) -> str:
    rows = "".join(f"| {status} | {errno} | `{label}` | {text.replace('<', '&lt;')} |\n" for status, errno, label, text in problems())
    return TABLE.sub(lambda match: match.group(1) + rows, page, count=1)


def sentences() -> set[str]:
    """All texts of the endpoint."""
    return {joined(text) for path in (ROOT / "src/ingest").rglob("*.cpp") for text in TEXTS.findall(path.read_text())}


def phrase(status: str) -> str:
    known = {"413": "Payload Too Large", "418": "I'm a teapot"}
    return known.get(status) or http.HTTPStatus(int(status)).phrase


def openapi(page: str) -> str:
    """An example may have a sentence of one request, too (`detail`); another one becomes the nearest with its status and errno."""
    known = sentences()

    def corrected(match: re.Match) -> str:
        begin, status, errno, _, between, quoted, end = match.groups()
        sentence = quoted.strip("'").replace("''", "'") if quoted.startswith("'") else quoted
        if sentence not in known:
            near = [text for code, number, _, text in problems() if (code, number) == (status, errno)]
            best = difflib.get_close_matches(sentence, near, n=1, cutoff=0)
            if not best:
                sys.exit(f"schemas/openapi.yaml: no refusal of src/ingest/api/errors.cpp is {status} with errno {errno}")
            quoted = "'" + best[0].replace("'", "''") + "'" if re.search(r"[,:#{}\[\]]", best[0]) else best[0]
        return f"{begin}{phrase(status)}{between}{quoted}{end}"

    return EXAMPLE.sub(corrected, page)


def chart(schema: str) -> str:
    templates = text_of("packaging/helm/beckon/templates/_helpers.tpl")

    def decided(name: str) -> bool:
        """By the environment, or by a value of the chart. A list that a template makes of several values may be replaced."""
        variable = f"BECKON_{name.replace('.', '_').upper()}"
        in_file = re.search(rf'\$settings "{re.escape(name)}" (?!\(list)|"{re.escape(name)}" \.Values', templates)
        return f"name: {variable}," in templates or in_file is not None

    names = [name for name in SETTINGS.findall(text_of("docs/configuration.md")) if not decided(name)]
    lines = ",\n".join(f'              "{name}"' for name in names)
    return CHART_LIST.sub(lambda match: match.group(1) + lines + match.group(3), schema, count=1)


FILES = {
    "docs/protocol/errors.md": errors_page,
    "schemas/openapi.yaml": openapi,
    "packaging/helm/beckon/values.schema.json": chart,
}


def main() -> int:
    stale = 0
    for name, made in FILES.items():
        there = text_of(name)
        wanted = made(there)
        if there == wanted:
            continue
        if "--write" in sys.argv:
            (ROOT / name).write_text(wanted)
            continue
        stale = 1
        difference = list(difflib.unified_diff(there.splitlines(), wanted.splitlines(), "is", "should be", n=0, lineterm=""))
        print("\n".join(difference[2:22]))
        print(f"{name} is not what the code says: run {WRITE}")
    if not stale:
        print("generated: the files have what the code says")
    return stale


if __name__ == "__main__":
    sys.exit(main())
