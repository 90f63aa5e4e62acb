#!/usr/bin/env bash
# Installs autobahntestsuite, pinned, beside a Python 2.7 (it runs under no other; Debian has none any more):
# tests/e2e/autobahn.mjs holds the edge to RFC 6455 with it. In a moment when it is there already. BECKON_PYTHON2
# names the interpreter; else python2.7, python2 and those of pyenv are tried. Without one, or where PyPI cannot be
# reached, it says so and leaves it out, and the test says so too.
set -euo pipefail
cd "$(dirname "$0")/../tests/e2e"
readonly CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon/autobahn"
readonly WANTED=autobahn-requirements.txt
stamp="$CACHE/.installed-$(sha256sum "$WANTED" | cut -c1-16)"
[[ -e "$stamp" ]] && exit 0

python=""
for candidate in "${BECKON_PYTHON2:-}" python2.7 python2 "$HOME"/.pyenv/versions/2.7*/bin/python; do
    if [[ -n "$candidate" ]] && "$candidate" -c 'import sys, pip; sys.exit(sys.version_info[:2] != (2, 7))' 2>/dev/null; then
        python="$candidate"
        break
    fi
done
if [[ -z "$python" ]]; then
    echo "==> autobahntestsuite is left out: there is no Python 2.7 with pip" >&2
    exit 0
fi

echo "==> installing autobahntestsuite" >&2
rm -rf "$CACHE"
mkdir -p "$CACHE"
if ! "$python" -W ignore -m pip install -q --disable-pip-version-check --no-deps --target "$CACHE/packages" -r "$WANTED" >&2; then
    rm -rf "$CACHE"
    echo "==> autobahntestsuite is left out: PyPI could not be reached" >&2
    exit 0
fi
command -v "$python" >"$CACHE/python"
touch "$stamp"
