#!/usr/bin/env python3
"""Functions in anonymous namespaces have different names within what is compiled as one unit.

    unity_test.py [BUILD]    BUILD has the units that cmake/Unity.cmake has written

A redefinition in a unit fails to compile, but two functions of one name with different parameters become overloads of
each other, and a call may silently choose the other. The sources of a folder count as one unit, whatever its size.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
SIM = ROOT / "tests/sim"  # other tests are each put into a namespace of their own
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
FUNCTION = re.compile(r"^(?!using |return |namespace )[A-Za-z_][\w:<>,&*\s\[\]]*?[\s&*](\w+)\([^;{]*?\)\s*(?:const|noexcept|\s)*[{;]", re.M)


def functions_of(path):
    text = path.read_text()
    return {function[1] for namespace in ANONYMOUS.finditer(text) for function in FUNCTION.finditer(namespace[1])}


def units():
    folders = collections.defaultdict(list)
    for path in sorted([*SRC.rglob("*.cpp"), *SIM.rglob("*.cpp")]):
        folders[path.parent].append(path)
    yield from folders.values()
    for build in sys.argv[1:]:
        for unit in sorted(pathlib.Path(build, "src").rglob("beckon_*.cpp")):
            yield [SRC / name for name in re.findall(r'^#include "(.+\.cpp)"$', unit.read_text(), re.M) if (SRC / name).exists()]


found = set()
for unit in units():
    named = collections.defaultdict(list)
    for path in unit:
        for name in functions_of(path):
            named[name].append(str(path.relative_to(ROOT)))
    found.update(f"{name}() stands in {' and in '.join(sorted(files))}: give each a name of its own"
                 for name, files in named.items() if len(files) > 1)
for fault in sorted(found):
    print(fault)
if not found:
    print("unity: functions in anonymous namespaces have names of their own")
sys.exit(1 if found else 0)
