#!/usr/bin/env python3
"""docs/metrics.md lists every metric of src/ops/metric_names.hpp with its kind, labels and help text as the
code registers them, and says of each when to look at it. Names are as Prometheus has them. `--write` brings the document up to date and keeps what stands in its last column."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/metrics.md"
LIST = ROOT / "src/ops/metric_names.hpp"
# Written by the ops port itself, by console/lag/lag_metrics and by console/canary, not through ops::Metrics.
GROUP = ("consumergroup", "topic", "partition")
BY_HAND = {
    "kReady": ("gauge", ("part",), "1 while this part of the process is ready, 0 while it is not; /ready says why."),
    "kFailedRequests": ("counter", ("place",), "Requests and tasks that their own code ended with an exception, by loop or port."),
    "kGroupLag": ("gauge", GROUP, "Records that a group has not read yet."),
    "kGroupLagSeconds": ("gauge", GROUP, "Age of the oldest record that a group has not read yet."),
    "kGroupOffset": ("gauge", GROUP, "Next record that a group will read."),
    "kGroupStatus": ("gauge", GROUP, "Of Beckon's own groups: 0 OK, 1 RESTORING, 2 SLOW, 3 STALLED, 4 STOPPED."),
    "kCanarySuccess": ("gauge", ("edge",), "1: the last push of the canary through this edge arrived."),
    "kGroupLagSum": ("gauge", GROUP[:2], "Records of a topic that a group has not read yet."),
    "kTopicEnd": ("gauge", GROUP[1:], "End of a partition."),
    "kTopicStart": ("gauge", GROUP[1:], "First record that a partition still has."),
    "kKminionLag": ("gauge", ("group_id", "topic_name", "partition_id"), "Records that a group has not read yet."),
    "kKminionTopicLag": ("gauge", ("group_id", "topic_name"), "Records of a topic that a group has not read yet."),
}
KINDS = {"counter": "counter", "gauge": "gauge", "seconds": "histogram"}

NAME = re.compile(r'(k\w+) =\s*"((?:beckon|process|kafka|kminion)_\w+)"')
SECTION = re.compile(r"^// --- (.+)$", re.M)
# Also `counters<Enum>(…, "label")`: one for each value of an enum.
CALL = re.compile(r"\b(counter|gauge|seconds)(s<[\w:]+>)?\(\s*(?:ops::)?metric::(k\w+),")
TEXTS = re.compile(r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
VARIABLE = re.compile(r"\s*(\w+)")
LABEL = re.compile(r'\{\s*"(\w+)",')
LABEL_OF_ENUM = re.compile(r',\s*"(\w+)"$')
ROW = re.compile(r"^\| `(\w+)(?:\{[\w,]*\})?` \| \w+ \| .* \| (.*) \|$", re.M)


def to_closing(text: str, start: int) -> str:
    """From `start`, within parentheses, to the one that closes them."""
    depth, at, quoted = 1, start, False
    while depth:
        c = text[at]
        if quoted and c == "\\":
            at += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c == "(") - (c == ")")
        at += 1
    return text[start:at - 1]


def registered() -> dict:
    """Constant -> (kind, labels, help), from the calls that register it."""
    found = dict(BY_HAND)
    for path in sorted((ROOT / "src").rglob("*.[ch]pp")):
        text = path.read_text()
        for call in CALL.finditer(text):
            arguments = to_closing(text, call.end())
            help_text = literal(arguments) or literal_of_variable(arguments, text)
            labels = tuple((LABEL_OF_ENUM if call.group(2) else LABEL).findall(arguments))
            known = found.setdefault(call.group(3), (KINDS[call.group(1)], labels, help_text))
            if known != (KINDS[call.group(1)], labels, help_text):
                sys.exit(f"{path.relative_to(ROOT)}: {call.group(3)} is registered in two ways")
    return found


def literal(arguments: str) -> str | None:
    match = TEXTS.match(arguments)
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(1))) if match else None


def literal_of_variable(arguments: str, text: str) -> str:
    name = VARIABLE.match(arguments).group(1)
    return literal(re.search(rf"\b{name} =(.*?);", text, re.S).group(1))


def expected(advice: dict) -> str:
    calls, text = registered(), LIST.read_text()
    lines = []
    for section in SECTION.finditer(text):
        following = SECTION.search(text, section.end())
        part = text[section.end():following.start() if following else len(text)]
        title = section.group(1)[0].upper() + section.group(1)[1:]
        lines += [f"## {title}", "", "| name | kind | what | look at it when |", "|---|---|---|---|"]
        for constant, name in NAME.findall(part):
            if constant not in calls:
                sys.exit(f"metrics: nobody registers {constant} ({name})")
            kind, labels, help_text = calls[constant]
            shown = f"{name}{{{','.join(labels)}}}" if labels else name
            lines.append(f"| `{shown}` | {kind} | {help_text} | {advice.get(name, '')} |")
        lines.append("")
    return "\n".join(lines)


def ill_named() -> list[str]:
    """A counter ends in _total and nothing else does; a histogram ends in its unit."""
    names = dict(NAME.findall(LIST.read_text()))
    own = {constant: kind for constant, (kind, _, _) in registered().items() if names[constant].startswith("beckon_")}
    return sorted(names[constant] for constant, kind in own.items() if names[constant].endswith("_total") != (kind == "counter")
                  or (kind == "histogram" and not names[constant].endswith("_seconds")))


def main() -> int:
    document = DOCUMENT.read_text()
    head, mark, body = document.partition("\n## ")
    wanted = head + "\n" + expected(dict(ROW.findall(mark + body))).rstrip("\n") + "\n"
    if "--write" in sys.argv:
        DOCUMENT.write_text(wanted)
        return 0
    if document != wanted:
        print("docs/metrics.md is not what the code registers: run tests/layers/metrics_test.py --write")
        return 1
    if ill_named():
        print(f"not named as Prometheus names its kind: {', '.join(ill_named())}")
        return 1
    empty = [name for name, advice in ROW.findall(document) if not advice.strip()]
    if empty:
        print(f"docs/metrics.md does not say when to look at {', '.join(empty)}")
        return 1
    print("metrics: docs/metrics.md has every metric as the code registers it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
