#!/usr/bin/env bash
# Installs Helm's library and the schemas of Kubernetes' objects, pinned, into a Python environment of their own:
# tests/e2e/helm.mjs checks the chart with them. In a moment when they are there already. Where PyPI cannot be reached, or has
# none for this processor, it says so and leaves them out, and the test says so too.
set -euo pipefail
cd "$(dirname "$0")/../tests/e2e/helm"
readonly CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon/helm"
readonly WANTED=requirements.txt
stamp="$CACHE/.installed-$(sha256sum "$WANTED" | cut -c1-16)"
[[ -e "$stamp" ]] && exit 0
mkdir -p "$CACHE"
echo "==> installing Helm's library" >&2
python3 -m venv "$CACHE/venv"
if ! "$CACHE/venv/bin/pip" install -q --disable-pip-version-check -r "$WANTED" >&2; then
    rm -rf "$CACHE/venv"
    echo "==> Helm's library is left out: PyPI could not be reached, or has none for this processor" >&2
    exit 0
fi
touch "$stamp"
