#!/usr/bin/env bash
# Installs the pinned npm packages of the browser tests; in a moment when they are there already.
set -euo pipefail
cd "$(dirname "$0")/../tests/e2e"
readonly STAMP=node_modules/.installed-$(sha256sum <package-lock.json | cut -c1-16)
[[ -e "$STAMP" ]] && exit 0
echo "==> installing the npm packages of the browser tests" >&2
npm ci --ignore-scripts --no-progress --loglevel=error >&2
touch "$STAMP"
