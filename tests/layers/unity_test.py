#!/usr/bin/env python3
"""Functions in anonymous namespaces have different names within a folder of src.

The sources of a folder are compiled as one unit (cmake/Unity.cmake). A redefinition there fails to compile, but two
functions of one name with different parameters become overloads of each other, and a call may silently choose the other.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
FUNCTION = re.compile(r"^(?!using |return |namespace )[A-Za-z_][\w:<>,&*\s\[\]]*?[\s&*](\w+)\([^;{]*?\)\s*(?:const|noexcept|\s)*[{;]", re.M)

named = collections.defaultdict(set)
for path in sorted((ROOT / "src").rglob("*.cpp")):
    for namespace in ANONYMOUS.finditer(path.read_text()):
        for function in FUNCTION.finditer(namespace[1]):
            named[path.parent, function[1]].add(path.name)
found = [f"{folder.relative_to(ROOT)}: {name}() stands in {' and in '.join(sorted(files))}: give each a name of its own"
         for (folder, name), files in named.items() if len(files) > 1]
for fault in found:
    print(fault)
if not found:
    print(f"unity: {len(named)} functions in anonymous namespaces have names of their own")
sys.exit(1 if found else 0)
