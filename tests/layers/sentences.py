#!/usr/bin/env python3
"""Lists sentences that are hard to read, hardest first: a report, not a test. Run it over everything, or over some files:

    tests/layers/sentences.py [--at-least N] [--words] [FILE …]

A sentence counts where it has three or more of what, who, those, such, one and which, or where its subject is a pronoun
that stands for no noun ("Who …", "What …", "Those that …"). It looks at documents, comments, and texts of the source
that people read (metric help, errors, log texts, `--help`). With `--words` it lists private words for which
ARCHITECTURE.md#words has the field's term: in sentences, and in names of functions, types and files. Not each is a fault:
"clients spread over all partitions" is plain English, and a partition is handed over."""

import argparse
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs", "schemas", "packaging"]
SOURCES = ["src", "tests"]

VAGUE = re.compile(r"\b(?:what|who|whoever|whatever|those|such|one|which)\b", re.I)
# A sentence whose subject is a clause instead of a noun.
NO_NOUN = re.compile(r"^(?:Who|Whoever|What|Whatever|Those|Such|Which|The same)\b(?![^.]*\?)")
# Every form of the private words.
WORDS = re.compile(
    r"\b(?:compan(?:y|ies)|gather(?:s|ed|ing)?|debts?|ow(?:e|es|ed|ing)|marks?|marked|markers?|marking|tenures?|contested|"
    r"truths?|overrul(?:e|es|ed|ing)|troubles?|standstills?|st(?:and|ands|ood|anding) still|g(?:ive|ives|ave|iving) way|fates?|"
    r"bur(?:y|ies|ied|ial|ials|ying)|puts? back|putting back|spreads?|spreading|hand(?:s|ed|ing)? (?:\w+ )?over|hand-overs?|"
    r"settl(?:e|es|ed|ing)|settlements?|look\(\)|t(?:ell|ells|old|elling)|hear(?:s|d|ing)?|rooms?|move[sd]? in|twins?|"
    r"strangers?|doors?|desks?)\b", re.I)
NAMES = re.compile(
    r"\b(?:compan(?:y|ies)|gather|debts?|owe[sd]?|mark(?:er|ers)?|tenures?|contested|truth|overrule\w*|troubles?|standstill|"
    r"fates?|bur(?:y|ied|ial)|put_back|settle_(?!dead)\w+|tells?|told|hears?|heard|says?|said|rooms?|questions?|twins?|strangers?|look)"
    r"(?=\s*\()|\b(?:Company|Debt|Marker|Tenure|Contested|Truth|Trouble|Standstill|Fate|Burial|Spread|Question|WayTo|Stranger|Twin)"
    r"[A-Za-z]*\b")
SKIPPED = {"node_modules", "package-lock.json", "sentences.py"}
SCRIPTS = {".mjs", ".js", ".py"}

SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`*(\[])")
COMMENT = re.compile(r"(?:^[ \t]*///?<?[ \t]?[^\n]*\n)+|//+<?[ \t]?[^\n]*", re.M)
TEXT = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')
MARKUP = re.compile(r"`[^`]*`|\]\([^)]*\)|[*_\[\]]")
THREE = 3


def sentences_of(text: str):
    """Each sentence with the offset of its first character."""
    start = 0
    for piece in [*SENTENCE_END.finditer(text), None]:
        end = piece.start() if piece else len(text)
        sentence = " ".join(text[start:end].split())
        if sentence:
            yield start, sentence
        start = piece.end() if piece else end


def blank(match: re.Match) -> str:
    """As many lines, so that numbers stay right."""
    return "\n" * match.group().count("\n")


def prose_of_document(text: str):
    """Paragraphs, list items and cells of tables, with their line."""
    text = re.sub(r"^```.*?^```", blank, text, flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    line, paragraph, first = 0, [], 1
    for line, row in enumerate([*text.splitlines(), ""], 1):
        if row.startswith("|"):
            for cell in row.strip("|").split("|"):
                yield line, cell.strip()
            continue
        begins = re.match(r"\s*(?:[*-]|\d+\.|#+)\s", row)
        if (not row.strip() or begins) and paragraph:
            yield first, "\n".join(paragraph)
            paragraph = []
        if row.strip():
            if not paragraph:
                first = line
            paragraph.append(re.sub(r"^\s*(?:[*-]|\d+\.|#+|>)\s+", "", row))


def prose_of_source(text: str):
    """Comments, and literals that hold a sentence."""
    for match in COMMENT.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, re.sub(r"^\s*//+<?[ \t]?", "", match.group(), flags=re.M)
    for match in TEXT.finditer(text):
        literal = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match.group()))
        if literal.count(" ") >= 3 and "#include" not in literal:
            yield text.count("\n", 0, match.start()) + 1, literal


def prose_of_schema(text: str):
    """Titles and descriptions of a JSON schema."""
    for match in re.finditer(r'"(?:title|description)":\s*"((?:[^"\\]|\\.)*)"', text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1)


def prose_of_script(text: str):
    """Comments of a script, and names of its tests."""
    for match in re.finditer(r"^\s*(?://|\*|/\*\*|#)[ \t]?(.*)$|\b(?:test|step)\('([^'\n]*)'", text, re.M):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) or match.group(2) or ""


def prose_of(path: pathlib.Path):
    if path.suffix in {".hpp", ".cpp"}:
        return prose_of_source
    if path.suffix == ".json":
        return prose_of_schema
    return prose_of_script if path.suffix in SCRIPTS else prose_of_document


def names_of(path: pathlib.Path, text: str):
    """Private words in names: of the file, and of what its code declares or calls."""
    if WORDS.search(path.stem.replace("_", " ").replace("-", " ")):
        yield 1, path.name
    if path.suffix not in {".hpp", ".cpp"} | SCRIPTS:
        return
    for line, row in enumerate(text.splitlines(), 1):
        code = re.sub(r"""//.*|^\s*[*#].*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|r"[^"]*\"""", "", row)
        for match in NAMES.finditer(code):
            yield line, match.group()


def files(names: list[str]):
    for name in names:
        top = ROOT / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.suffix in {".md", ".hpp", ".cpp", ".yml", ".yaml", ".json"} | SCRIPTS and not SKIPPED & {*path.parts}:
                yield path


def hardness(sentence: str) -> int:
    plain = MARKUP.sub(" ", sentence)
    return len(VAGUE.findall(plain)) + (THREE if NO_NOUN.match(plain.strip()) else 0)


def main() -> int:
    options = argparse.ArgumentParser(description="Lists sentences that are hard to read.")
    options.add_argument("--at-least", type=int, default=THREE)
    options.add_argument("--words", action="store_true", help="list private words instead")
    options.add_argument("files", nargs="*")
    given = options.parse_args()
    found = []
    for path in files(given.files or DOCUMENTS + SOURCES):
        text = path.read_text(errors="replace")
        where = path.relative_to(ROOT)
        if given.words:
            found += [(1, f"{where}:{line}", f"the name {name}") for line, name in names_of(path, text)]
        for line, part in prose_of(path)(text):
            for start, sentence in sentences_of(part):
                plain = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", sentence)
                weight = len(WORDS.findall(plain)) if given.words else hardness(sentence)
                if weight >= (1 if given.words else given.at_least):
                    found.append((weight, f"{where}:{line + part.count(chr(10), 0, start)}", sentence))
    for weight, where, sentence in sorted(found, key=lambda one: (-one[0], one[1])):
        print(f"{weight} {where}: {sentence[:240]}")
    print(f"{len(found)} sentences")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
