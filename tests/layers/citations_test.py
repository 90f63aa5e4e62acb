#!/usr/bin/env python3
"""Every document, anchor, decision and file that a comment or a document cites exists, and nobody cites
a section (`§`) without saying of what."""

import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".hpp", ".cpp", ".h", ".py", ".mjs", ".js", ".sh", ".txt", ".md", ".json", ".yaml",
            ".cmake", ".toml", ".go", ".rs", ".java"}
SCANNED = ["src", "tests", "docs", "schemas", "scripts", "cmake", "README.md", "ARCHITECTURE.md",
           "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "dev"]
SKIPPED = {"node_modules", "corpus", "build", "__pycache__"}

LINK = re.compile(r"\]\(([^)\s]+)\)")
DOCUMENT = re.compile(r"\bdocs/[\w/.-]+\.md(?:#[\w-]+)?")
DECISION = re.compile(r"\b[Dd]ecisions? (\d{4})(?:(?:,| and|, and) (\d{4}))*|docs/decisions/(\d{4})")
NO_COMMENT = re.compile(r"^(?:(?!//).)*", re.M)
FILE = re.compile(r"(?<![\w/.<-])(?:[a-z][\w-]*/)*[a-z]\w*\.(?:hpp|cpp|py|mjs)\b")
PATH = re.compile(r"`((?:[a-z_]+/)+[a-z_*.]+)`")  # of a file, perhaps without suffix, or a folder
SECTION = re.compile(r"§")
SOURCE_OF_SECTION = re.compile(r"\b(?:RFC \d+|draft-[\w-]+)")
FORBIDDEN = [
    re.compile(r"\b(?:DESIGN|FORMATS|STYLE)(?:\.md)?\b"),
    re.compile(r"(?<![\w/-])(?:spec/)?(?:http-api|client-protocol|storage-and-routing|reliability)\.md"),
    re.compile(r"(?<![\w/.-])(?:spec|facts|shared)/[\w-]+\.md"),
]
FILES_OF_OTHERS = {"awaitable.hpp"}  # of Boost.Asio
FIRST_OF_COMMENT = re.compile(r"^\s*(?:///?<?|#|\*)?\s?")


def files() -> list[pathlib.Path]:
    found = []
    for name in SCANNED:
        top = ROOT / name
        if top.is_file():
            found.append(top)
        for path in sorted(top.rglob("*")) if top.is_dir() else []:
            if path.is_file() and path.suffix in SUFFIXES and not SKIPPED & set(path.parts):
                found.append(path)
    return found


def slug(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(path: pathlib.Path, known: dict) -> set[str]:
    if path not in known:
        lines = re.sub(r"```.*?```", "", path.read_text(), flags=re.S).splitlines()
        known[path] = {slug(line.lstrip("#")) for line in lines if re.match(r"#+ ", line)}
    return known[path]


class Check:
    def __init__(self, everything: list[pathlib.Path]):
        self.anchors: dict = {}
        self.names = {path.name for path in everything}
        self.paths = [str(path.relative_to(ROOT)) for path in everything]
        self.tops = {"src", "tests", *(p.name for p in (ROOT / "src").iterdir() if p.is_dir())}
        self.decisions = {p.name[:4] for p in (ROOT / "docs/decisions").glob("[0-9]*.md")}

    def faults(self, path: pathlib.Path) -> list[tuple[int, str]]:
        where = str(path.relative_to(ROOT))
        if where == "tests/layers/citations_test.py":
            return []
        text = path.read_text(errors="replace")
        found = [(line, what) for check in (self.documents, self.links, self.decisions_cited,
                                            self.forbidden, self.sections)
                 for line, what in check(path, text)]
        return sorted({*found, *self.file_names(path, text)})

    def target(self, file: pathlib.Path, anchor: str) -> str | None:
        if not file.exists():
            return "does not exist"
        if anchor and anchor not in anchors_of(file, self.anchors):
            return "has no such heading"
        return None

    def documents(self, path, text):
        if path.suffix == ".md":
            return
        for match in DOCUMENT.finditer(text):
            name, _, anchor = match.group().partition("#")
            if wrong := self.target(ROOT / name, anchor):
                yield line_of(text, match), f"{match.group()} {wrong}"

    def links(self, path, text):
        for match in LINK.finditer(text) if path.suffix == ".md" else []:
            name, _, anchor = match.group(1).partition("#")
            if re.match(r"[a-z]+:", name):
                continue
            file = path if not name else (path.parent / name)
            if wrong := self.target(file, anchor if file.suffix == ".md" else ""):
                yield line_of(text, match), f"the link {match.group(1)} {wrong}"

    def decisions_cited(self, _path, text):
        for match in DECISION.finditer(text):
            for number in re.findall(r"\d{4}", match.group()):
                if number not in self.decisions:
                    yield line_of(text, match), f"there is no decision {number}"

    def forbidden(self, path, text):
        for pattern in FORBIDDEN:
            for match in pattern.finditer(text):
                if path.suffix == ".md" and text[match.start() - 1] == "(":
                    continue  # a link to a neighbour, checked as such
                yield line_of(text, match), f"'{match.group()}' is no document of this repository"

    def sections(self, _path, text):
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            for match in SECTION.finditer(line):
                before = FIRST_OF_COMMENT.sub("", lines[number - 2]) if number > 1 else ""
                if not SOURCE_OF_SECTION.search(before + " " + line[:match.start()]):
                    yield number, f"a section of what? '{line[match.start():][:12]}'"

    def file_names(self, path, text):
        if path.suffix in {".hpp", ".cpp"}:
            text = NO_COMMENT.sub("", text)
        elif path.suffix != ".md":
            return
        for match in FILE.finditer(text):
            name = match.group()
            known = name in self.names if "/" not in name else self.is_path(name)
            if not known and name not in FILES_OF_OTHERS:
                yield line_of(text, match), f"there is no file {name}"
        for match in PATH.finditer(text) if path.suffix == ".md" else []:
            ours = match.group(1).split("/")[0] in self.tops
            if ours and not self.is_path(match.group(1)):
                yield line_of(text, match), f"there is no {match.group(1)}"

    def is_path(self, name: str) -> bool:
        """From the root or from src/, a file with or without its suffix, a folder, or a pattern."""
        name = name.rstrip("/")
        return any(fnmatch.fnmatch(path, top + form)
                   for top in ("", "src/", "tests/") for form in (name, name + ".*", name + "/*")
                   for path in self.paths)


def line_of(text: str, match: re.Match) -> int:
    return text.count("\n", 0, match.start()) + 1


def main() -> int:
    everything = files()
    check = Check(everything)
    faults = [f"{path.relative_to(ROOT)}:{line}: {what}"
              for path in everything for line, what in check.faults(path)]
    print("\n".join(faults) or f"citations: {len(everything)} files cite what is there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
