#!/usr/bin/env bash
# Installs schemathesis and openapi-spec-validator, pinned, into a Python environment of its own: tests/e2e/openapi.mjs holds
# every HTTP API to its document with them. In a moment when it is there already. Where
# PyPI cannot be reached it says so and leaves it out, and the test says so too.
set -euo pipefail
cd "$(dirname "$0")/../tests/e2e"
readonly CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon/schemathesis"
readonly WANTED=schemathesis-requirements.txt
stamp="$CACHE/.installed-$(sha256sum "$WANTED" | cut -c1-16)"
[[ -e "$stamp" ]] && exit 0
mkdir -p "$CACHE"
echo "==> installing schemathesis" >&2
python3 -m venv "$CACHE/venv"
if ! "$CACHE/venv/bin/pip" install -q --disable-pip-version-check -r "$WANTED" >&2; then
    rm -rf "$CACHE/venv"
    echo "==> schemathesis is left out: PyPI could not be reached" >&2
    exit 0
fi
touch "$stamp"
