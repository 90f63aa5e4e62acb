#!/usr/bin/env python3
"""sbom.py BINARY TRIPLET VERSION COMMIT TIME DIRECTORY: what of others is in the binary, for the package.

Writes two files into DIRECTORY, for a build with the packages of Debian:

  beckon.spdx.json             SPDX 2.3: the packages of the shared libraries that the binary loads, directly or through others, those of the
                               headers that are compiled in, and what stands in the tree (packaging/debian/copyright)
  third-party-licenses.txt.gz  Debian's copyright files of those that are compiled in (a shared library comes with its own)

TRIPLET names the directory of libraries of the binary's architecture (x86_64-linux-gnu). TIME is that of the commit, in seconds since 1970.
"""

import gzip
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r"^#include <([\w/.+-]+)>", re.M)
NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")
# Of the system that every program is made for, with licences that exempt it.
SYSTEM = {"glibc", "linux", "gcc-12", "gcc-13", "gcc-14", "gcc-defaults"}


def output(*command) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def needed(file: pathlib.Path) -> list[str]:
    return NEEDED.findall(output("readelf", "--dynamic", "--wide", str(file)))


def libraries(binary: pathlib.Path, triplet: str) -> dict[pathlib.Path, bool]:
    """The shared libraries, and whether the binary names them itself."""
    found: dict[pathlib.Path, bool] = {}
    waiting = [(name, True) for name in needed(binary)]
    while waiting:
        name, direct = waiting.pop(0)
        file = next((path for top in ("/usr/lib", "/lib") if (path := pathlib.Path(top, triplet, name)).exists()), None)
        if file is None:
            sys.exit(f"sbom: {name}, which the binary needs, is not in the directories of {triplet}")
        if file not in found:
            found[file] = direct
            waiting += [(further, False) for further in needed(file)]
    return found


def headers(triplet: str) -> set[pathlib.Path]:
    """The headers of others that sources of the product include."""
    names = {name for path in (ROOT / "src").rglob("*.[ch]pp") for name in INCLUDE.findall(path.read_text())}
    names |= set(INCLUDE.findall((ROOT / "cmake/boost_sources.cpp").read_text()))
    places = [pathlib.Path("/usr/include"), pathlib.Path("/usr/include", triplet)]
    return {top / name for name in names for top in places if (top / name).exists()}


def packages_of(files) -> dict[str, str]:
    """Debian's package of each file. A file of usr-merged Debian may be listed with or without /usr."""
    forms = {form: str(file) for file in files for form in (str(file), str(file).removeprefix("/usr"))}
    listed = {}
    for line in output("dpkg", "--search", *sorted(forms)).splitlines():
        names, _, path = line.partition(": ")
        if path in forms:
            listed[forms[path]] = names.split(", ")[0]
    missing = sorted({str(file) for file in files} - set(listed))
    if missing:
        sys.exit(f"sbom: no package of Debian has {', '.join(missing)}")
    return listed


def facts(packages) -> dict[str, dict]:
    form = "${binary:Package}\t${Package}\t${Version}\t${source:Package}\t${Architecture}\n"
    lines = output("dpkg-query", "--show", f"--showformat={form}", *sorted(packages)).splitlines()
    known = {}
    for full, name, version, source, architecture in (line.split("\t") for line in lines):
        known[full] = known[name] = {"name": name, "version": version, "source": source, "architecture": architecture}
    return known


def copyright_of(name: str) -> str:
    file = pathlib.Path("/usr/share/doc", name, "copyright")
    return file.read_text(errors="replace") if file.exists() else ""


def licences_in(text: str) -> str:
    names = sorted(set(re.findall(r"^License: *(\S.*?)\s*$", text, re.M)))
    return f"Debian's copyright file names {', '.join(names)}." if names else "Debian's copyright file names them in prose."


def spdx_package(facts_of: dict, codename: str) -> dict:
    name, version, architecture = facts_of["name"], facts_of["version"], facts_of["architecture"]
    return {
        "SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}",
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "licenseComments": licences_in(copyright_of(name)),
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"source package {facts_of['source']}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={architecture}&distro={codename}"}],
    }


def vendored() -> list[dict]:
    """What stands in the tree and is not ours: the stanzas of packaging/debian/copyright after the first."""
    stanzas = re.findall(r"^Files: (.+)\nCopyright: (.+)\nLicense: (\S+)", (ROOT / "packaging/debian/copyright").read_text(), re.M)
    return [{
        "SPDXID": f"SPDXRef-{pathlib.PurePath(files).stem.rstrip('.*')}",
        "name": pathlib.PurePath(files).stem.rstrip(".*"),
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": holder,
        "comment": f"the files {files} of the source",
    } for files, holder, licence in stanzas if files != "*"]


def document(beckon: dict, parts: list[tuple[dict, str]], created: str) -> dict:
    """`parts`: packages with their relationship to the binary."""
    reverse = {"RUNTIME_DEPENDENCY_OF"}
    relationships = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": beckon["SPDXID"]}]
    for part, kind in parts:
        ends = (part["SPDXID"], beckon["SPDXID"]) if kind in reverse else (beckon["SPDXID"], part["SPDXID"])
        relationships.append({"spdxElementId": ends[0], "relationshipType": kind, "relatedSpdxElement": ends[1]})
    name = f"beckon-{beckon['versionInfo']}"
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://beckon.invalid/spdx/{name}-{beckon.pop('unique')}",
        "creationInfo": {"created": created, "creators": ["Tool: beckon-sbom"]},
        "packages": [beckon, *(part for part, _ in parts)],
        "relationships": relationships,
    }


def main() -> int:
    if len(sys.argv) != 7:
        sys.exit("usage: sbom.py BINARY TRIPLET VERSION COMMIT TIME DIRECTORY")
    binary, triplet, version, commit, at, directory = sys.argv[1:]
    loaded = libraries(pathlib.Path(binary), triplet)
    included = headers(triplet)
    package = packages_of([*loaded, *included])
    known = facts(set(package.values()))

    kinds: dict[str, str] = {}  # by the name of the package
    for file, direct in loaded.items():
        name = known[package[str(file)]]["name"]
        if direct or name not in kinds:
            kinds[name] = "DYNAMIC_LINK" if direct else "RUNTIME_DEPENDENCY_OF"
    # Headers of a library that is loaded come from the same source; the others are in the binary alone.
    sources = {known[name]["source"] for name in kinds}
    for file in included:
        facts_of = known[package[str(file)]]
        if facts_of["source"] not in sources:
            kinds[facts_of["name"]] = "CONTAINS"
    kinds = {name: kind for name, kind in kinds.items() if known[name]["source"] not in SYSTEM}

    release = dict(re.findall(r'^(\w+)="?(.*?)"?$', pathlib.Path("/etc/os-release").read_text(), re.M))
    parts = [(spdx_package(known[name], release["VERSION_CODENAME"]), kinds[name]) for name in sorted(kinds)]
    parts += [(part, "CONTAINS") for part in vendored()]
    beckon = {
        "SPDXID": "SPDXRef-beckon", "name": "beckon", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": "MPL-2.0", "licenseDeclared": "MPL-2.0", "copyrightText": "NOASSERTION",
        "comment": f"commit {commit}", "unique": f"{commit}-{triplet}-{release['VERSION_CODENAME']}",
    }
    text = document(beckon, parts, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(at))))
    out = pathlib.Path(directory)
    (out / "beckon.spdx.json").write_text(json.dumps(text, indent=1) + "\n")
    licences = [f"{'=' * 78}\n{name} {known[name]['version']}\n\n{copyright_of(name).rstrip()}\n" for name in sorted(kinds) if kinds[name] == "CONTAINS"]
    text = (
        "The licences of the packages of Debian that are compiled into beckon. The file copyright has those of what stands in its source\n"
        "and is by others. Each shared library has a package of its own, with its licence.\n\n" + "\n".join(licences))
    (out / "third-party-licenses.txt.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
