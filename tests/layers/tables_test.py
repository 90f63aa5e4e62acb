#!/usr/bin/env python3
"""The tables of the documents say what the code says: folders and what they may include, close codes,
the indexes of pages and decisions, settings, and functions that
are cited with their file."""

import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/layers"))
from layers_test import LAYERS  # noqa: E402

FOLDER_ROW = re.compile(r"^\| `(?:src/)?((?<=src/)\w+|bench)` \|.*\| ([^|]+) \|$", re.M)
CLOSING = re.compile(r'Closing k\w+\{CloseCode::(\w+), "(\w+)"\}')
CLOSE_CODE = re.compile(r"^    (\w+) = (\d{4}),", re.M)
CLOSE_ROW = re.compile(r"^\| (\d{4}) \| `(\w+)` \|", re.M)
DECISION_ROW = re.compile(r"^\| \[(\d{4})\]\(([\w-]+\.md)\) \| (.+?) \| \d{4}-\d\d-\d\d \| .+ \|$", re.M)
MERGED_ROW = re.compile(r"^\| (\d{4}) \| .+ \| \[(.+?)\]\((.+?)\) \|$", re.M)
DELAY_TOPIC = re.compile(r"retry\.(\d+|N|i|dead|done)")  # log topics, beside the settings retry.…
LOG_LINE = re.compile(r'\blog_(?:sparsely\(\s*core::LogLevel::)?(warn|error)[(,]\s*(?:"\w+"|[\w.]+),\s*"(\w+)"')
# Functions of one file that log a line whose event they are given, and all calls of log_… whose event is no literal.
LOG_HELPER = {
    "log/kafka/reader_clients.cpp": ("error", re.compile(r'\blog_error\("(\w+)", \*?reading')),
    "retry/home/bridges.cpp": ("error", re.compile(r'\bset_fault\(app, job, "(\w+)"')),
    "app/installation/control_watch.cpp": ("warn", re.compile(r'\bwarn\("(\w+)"')),
}
LOG_LINE_COMPUTED = re.compile(r'\bcore::log_(?:warn|error)\(\s*(?:"\w+"|[\w.]+),\s*[^"\s]')
LOG_LINE_ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| ((?:warn|error)(?:, (?:warn|error))?) \|", re.M)
FUNCTIONS_IN_FILE = re.compile(r"((?:`\w+\(\)`(?:, | and |, then )?)+) in `([\w/.]+)`")
FILE_WITH_FUNCTIONS = re.compile(r"`((?:src/)?[\w/]+\.[ch]pp)` \(((?:`\w+\(\)`(?:, | and |, then )?)+)\)")

ROLE_RIGHTS = re.compile(r"case Reader::(\w+):\s+return \{(.*?)\};", re.S)
RIGHTS_MEMBER = re.compile(r"\.(reads|writes|groups) = (.*?)(?=,\s+\.|$)", re.S)
ACL_COMMAND = re.compile(r"^ {4}kafka-acls .*?--allow-principal User:(\w+) ((?:.*\\\n)*.*)$", re.M)

ROW_LENGTH_MAX = 160
NO_SETTINGS = {"edge.members", "edge.doctor"}  # groups of the log


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def differences(what: str, documented: set, coded: set):
    for one in sorted(documented - coded):
        yield f"{what}: {one} is documented, and the code has none"
    for one in sorted(coded - documented):
        yield f"{what}: {one} is in the code and not documented"


def folders():
    """Each folder's row in ARCHITECTURE.md against the table that layers_test.py holds files to."""
    tops = {layer.split("/")[0] for layer in LAYERS}
    rows = dict(FOLDER_ROW.findall(text_of("ARCHITECTURE.md")))
    yield from differences("ARCHITECTURE.md, folders", set(rows), tops)
    for folder, cell in rows.items():
        allowed = {name.split("/")[0] for layer, (ours, _) in LAYERS.items() if layer.split("/")[0] == folder
                   for name in ours} - {folder}
        named = tops - {folder} if cell == "everything" else tops & set(re.findall(r"\w+", cell))
        if cell != "everything" or not allowed:
            yield from differences(f"ARCHITECTURE.md, what {folder} may include", named, allowed)


def row_lengths():
    """A row of a table of ARCHITECTURE.md fits into one line of a screen: more belongs on the page that it links to."""
    for number, line in enumerate(text_of("ARCHITECTURE.md").splitlines(), 1):
        if line.startswith("|") and len(line) > ROW_LENGTH_MAX:
            yield f"ARCHITECTURE.md:{number}: the row has {len(line)} characters, and may have {ROW_LENGTH_MAX}"


def close_codes():
    numbers = dict(CLOSE_CODE.findall(text_of("src/edge/protocol/closings.hpp")))
    coded = {(numbers[code], reason)
             for code, reason in CLOSING.findall(text_of("src/edge/protocol/closings.hpp"))}
    documented = set(CLOSE_ROW.findall(text_of("docs/protocol/errors.md")))
    yield from differences("docs/protocol/errors.md, close codes", documented, coded)


def close_codes_in_tests():
    """Every end of a connection is the expectation of a test, with its code and its reason."""
    numbers = dict(CLOSE_CODE.findall(text_of("src/edge/protocol/closings.hpp")))
    tests = "\n".join(path.read_text() for path in (ROOT / "tests/edge").rglob("*_test.cpp"))
    for code, reason in CLOSING.findall(text_of("src/edge/protocol/closings.hpp")):
        number = numbers[code]
        forms = (f"closed {number} {reason}", f"| {number} {reason}", f'{number}, "{reason}"', f"released {reason}")
        if not any(form + end in tests for form in forms for end in ('"', ")")):
            yield f"tests/edge: no test expects {number} {reason}"


def decisions():
    """Every decision has a row with its number and title, and they come in order."""
    rows = DECISION_ROW.findall(text_of("docs/decisions/README.md"))
    titles = {path.name: path.read_text().splitlines()[0]
              for path in (ROOT / "docs/decisions").glob("[0-9]*.md")}
    documented = {(file, f"# {number} {title}") for number, file, title in rows}
    yield from differences("docs/decisions/README.md", documented, set(titles.items()))
    if [row[0] for row in rows] != sorted(row[0] for row in rows):
        yield "docs/decisions/README.md: the numbers are not in order"
    yield from merged_decisions({number: file for number, file, _ in rows})


def merged_decisions(pages: dict):
    """A number whose page was merged leads to a page that exists, and has no page of its own any more."""
    merged = MERGED_ROW.findall(text_of("docs/decisions/README.md"))
    for number, label, target in merged:
        if number in pages:
            yield f"docs/decisions/README.md: {number} has a page, and is in the list of merged numbers"
        if target not in pages.values() and not target.startswith("../"):
            yield f"docs/decisions/README.md: {number} leads to {target}, which is no decision"
        if label.isdigit() and pages.get(label) != target:
            yield f"docs/decisions/README.md: {number} is said to be in {label}, and its link leads to {target}"
    if [row[0] for row in merged] != sorted({row[0] for row in merged}):
        yield "docs/decisions/README.md: merged numbers are not in order, or stand there twice"


def functions():
    """`name()` in `file`, or `file` (`name()`): the file has a function of that name."""
    for document in [ROOT / "ARCHITECTURE.md", *(ROOT / "docs").rglob("*.md")]:
        text = document.read_text()
        cited = [(names, file) for names, file in FUNCTIONS_IN_FILE.findall(text)]
        cited += [(names, file) for file, names in FILE_WITH_FUNCTIONS.findall(text)]
        for names, file in cited:
            path = next((p for p in (ROOT / file, ROOT / "src" / file) if p.is_file()), None)
            for name in re.findall(r"\w+", re.sub(r"\(\)`(, then | and )", "()`, ", names)):
                if path is None or not re.search(rf"\b{name}\(", path.read_text()):
                    yield f"{document.relative_to(ROOT)}: there is no {name}() in {file}"


def log_lines():
    """Each event that is logged as a warning or an error has a row with its level in docs/log-lines.md."""
    coded = set()
    for path in (ROOT / "src").rglob("*.cpp"):
        name, text = path.relative_to(ROOT / "src").as_posix(), path.read_text()
        coded |= {(event, level) for level, event in LOG_LINE.findall(text)}
        if name in LOG_HELPER:
            level, calls = LOG_HELPER[name]
            coded |= {(event, level) for event in calls.findall(text)}
        elif LOG_LINE_COMPUTED.search(text):
            yield f"src/{name}: the event of a log line is no literal: name the function that logs it in LOG_HELPER"
    documented = set()
    for names, levels in LOG_LINE_ROW.findall(text_of("docs/log-lines.md")):
        events, levels = re.findall(r"\w+", names), levels.split(", ")
        documented |= set(zip(events, levels if len(levels) > 1 else levels * len(events), strict=True))
    yield from differences("docs/log-lines.md", documented, coded)


def settings():
    """`endpoint.…`, `edge.…` and the like are rows of docs/configuration.md."""
    known = set(re.findall(r"^\| `([\w.]+)` \|", text_of("docs/configuration.md"), re.M))
    groups = {name.split(".")[0] for name in known if "." in name} - {"kafka"}
    cited = re.compile(rf"`((?:{'|'.join(sorted(groups))})\.\w+)`")
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for name in cited.findall(document.read_text()):
            if name not in known | NO_SETTINGS and not DELAY_TOPIC.fullmatch(name):
                yield f"{document.relative_to(ROOT)}: there is no setting {name}"


def settings_explained():
    """A page of its subject, beside docs/configuration.md, names each setting: in full, without its group, or as a flag."""
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "configuration.md" and page.parent.name not in ("decisions", "facts")]
    words = set(re.findall(r"(?:--)?\w[\w.-]*\w", "\n".join(page.read_text() for page in pages)))
    for name in re.findall(r"^\| `([\w.]+)` \|", text_of("docs/configuration.md"), re.M):
        short = name.partition(".")[2] or name
        flags = {"--" + form.replace(".", "-").replace("_", "-") for form in (name, short)}
        if not {name, *flags} & words and not ("." in short and short in words):
            yield f"docs: no page but configuration.md names the setting {name}: explain it on the page of its subject"


def log_topics():
    """The table of log topics in ARCHITECTURE.md has a row for each, and no other."""
    names = re.search(r"kNames = \{(.*?)\};", text_of("src/log/topic.cpp"), re.S).group(1)
    table = text_of("ARCHITECTURE.md").split("\n## Log topics")[1].split("\n## ")[0]
    documented = set(re.findall(r"^\| `([\w.]+)`(?: …)? \|", table, re.M))
    yield from differences("ARCHITECTURE.md, log topics", documented, {*re.findall(r'"([\w.]+)"', names), "retry.0"})


def record_types():
    """A page of docs/formats has each type of record of schemas/, and each header."""
    pages = "\n".join(page.read_text() for page in (ROOT / "docs/formats").glob("*.md"))
    for schema in sorted((ROOT / "schemas").glob("*.json")):
        if f"`beckon.{schema.stem}`" not in pages:
            yield f"docs/formats: no page has the record type beckon.{schema.stem}"
    headers = {name for path in (ROOT / "src").rglob("*.[ch]pp") for name in re.findall(r'"(ce_\w+)"', path.read_text())}
    for name in sorted(headers):
        if f"`{name}`" not in pages:
            yield f"docs/formats: no page has the header {name}"


def own_events():
    """The table of Beckon's own events in docs/webhooks.md has each type and each member of its data, as schemas/event.v1.json."""
    section = text_of("docs/webhooks.md").split("\n## Beckon's own events")[1].split("\n## ")[0]
    for form in json.loads(text_of("schemas/event.v1.json"))["$defs"].values():
        types = re.findall(r"beckon\.\w+\.\w+", form["description"])
        rows = [line for line in section.splitlines() if line.startswith("|") and types and f"`{types[0]}`" in line]
        if not rows:
            yield f"docs/webhooks.md, Beckon's own events: no row has {types or form['description']}"
        for name in [*types, *form.get("properties", {})] if rows else []:
            if f"`{name}`" not in rows[0]:
                yield f"docs/webhooks.md, Beckon's own events: the row of {types[0]} does not have {name}"


def versions():
    """The Helm chart, and Beckon in it, have the version of the project: `./dev release` changes all three."""
    version = re.search(r"^project\(beckon VERSION ([\d.]+)", text_of("CMakeLists.txt"), re.M).group(1)
    chart = re.findall(r'^(?:version|appVersion): "?([\d.]+)"?$', text_of("packaging/helm/beckon/Chart.yaml"), re.M)
    if chart != [version, version]:
        yield f"packaging/helm/beckon/Chart.yaml: the versions are {chart}, and that of CMakeLists.txt is {version}"


def readers():
    """Each page of docs, but single decisions, facts and formats, begins with who reads it."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.parent.name in ("decisions", "facts", "formats") and page.name != "README.md":
            continue
        if not re.match(r"# .+\n\nThis (?:page|section) is for ", page.read_text()):
            yield f"{page.relative_to(ROOT)}: it does not begin with 'This page is for …', and what its reader can do after it"


def indexes():
    """Every page under docs/ and every schema is named in the README.md of its folder."""
    for page in (ROOT / "docs").rglob("*.md"):
        index = page.parent / "README.md"
        if page != index and f"]({page.name})" not in index.read_text():
            yield f"{index.relative_to(ROOT)}: {page.name} is not listed"
    index = text_of("schemas/README.md")
    for file in (ROOT / "schemas").iterdir():
        if file.name != "README.md" and file.name not in index:
            yield f"schemas/README.md: {file.name} is not listed"


def rights():
    """What `beckon doctor --role` tries for a role against the commands of docs/operations/rights.md."""
    coded = set()
    for role, members in ROLE_RIGHTS.findall(text_of("src/tools/doctor/reach_checks.cpp")):
        for member, value in RIGHTS_MEMBER.findall(members):
            if member == "groups":
                coded |= {f"{role}: Read on groups {name}" for name in re.findall(r'"(\w+)"', value)}
                continue
            operation = {"reads": "Read", "writes": "Write"}[member]
            names = [re.sub(r"(?<=[a-z])(?=[A-Z])", ".", name).lower() for name in re.findall(r"Topic::k(\w+)", value)]
            names += ["retry.*"] if "retry_topics" in value else []
            coded |= {f"{role}: {operation} on {name}" for name in names}
    documented = set()
    for role, arguments in ACL_COMMAND.findall(text_of("docs/operations/rights.md")):
        topics = [name.removeprefix("beckon.") for name in re.findall(r"--topic (\S+)", arguments)]
        groups = [name.removeprefix("beckon.") for name in re.findall(r"--group (\S+)", arguments)]
        prefixed = "--resource-pattern-type prefixed --topic" in arguments
        for operation in re.findall(r"--operation (\w+)", arguments):
            if operation not in ("Read", "Write"):  # every command of a role begins with Describe
                continue
            documented |= {f"{role}: {operation} on {name + '*' if prefixed else name}" for name in topics}
            documented |= {f"{role}: {operation} on groups {name}" for name in groups}
    # A right on all topics of the prefix holds each that the code names.
    for every in [one for one in documented if one.endswith(" on *")]:
        documented |= {one for one in coded if one.startswith(every[:-1]) and " on groups " not in one}
        documented.remove(every)
    yield from differences("docs/operations/rights.md, rights on a locked Kafka", documented, coded)


def main() -> int:
    faults = [fault for check in (folders, row_lengths, close_codes, close_codes_in_tests, decisions, settings, settings_explained,
                                   indexes, functions, log_lines, rights, log_topics, record_types, own_events, versions, readers)
              for fault in check()]
    print("\n".join(faults) or "tables: the documents say what the code says")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
