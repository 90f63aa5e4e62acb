#!/usr/bin/env bash
# e2e-setup.sh [all]
#
# Installs what the end-to-end tests use beside Debian's packages, pinned, each from its own registry; in a moment when it is
# there already. `all`: what `./dev test all` uses too. What this machine has no compiler or interpreter for is left out with a
# line, and so is what PyPI cannot give; the tests that use it say so.
set -euo pipefail
cd "$(dirname "$0")/../tests/e2e"
readonly CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon/e2e"
mkdir -p "$CACHE"

# once NAME FILE … -- COMMAND …: runs the command if the files changed since it last succeeded.
once() {
    local name="$1" stamp
    shift
    local files=()
    while [[ "$1" != -- ]]; do files+=("$1"); shift; done
    shift
    stamp="${STAMPS:-$CACHE}/.$name-$(cat "${files[@]}" | sha256sum | cut -c1-16)"
    [[ -e "$stamp" ]] && return
    echo "==> installing for end-to-end tests: $name" >&2
    "$@" >&2 && touch "$stamp"
}
# For what pip installs: there may be no registry, or nothing in it for this processor.
or_left_out() { echo "==> $1 is left out: the lines above say why" >&2; }

npm_packages() { npm ci --ignore-scripts --no-progress --loglevel=error; }
python_libraries() {
    rm -rf "$CACHE/python"
    python3 -m venv "$CACHE/python" && pip_install -r requirements.txt && return
    rm -rf "$CACHE/python"
    return 1
}
pip_install() { "$CACHE/python/bin/pip" install -q --disable-pip-version-check "$@"; }
go_program() { (cd "senders/$1" && GOFLAGS=-mod=mod go build -o "$CACHE/$1" .); }
rust_sender() { (cd senders/rust && cargo build -q --locked --target-dir "$CACHE/rust"); }
java_sender() {
    (cd senders/java && mvn -B -q -DbuildDirectory="$CACHE/java" dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$CACHE/java/lib") &&
        javac -cp "$CACHE/java/lib/*" -d "$CACHE/java/classes" senders/java/src/main/java/Send.java
}
# autobahntestsuite runs under Python 2.7 alone, which Debian has no more. BECKON_PYTHON2 names the interpreter; else python2.7,
# python2 and those of pyenv are tried.
autobahn() {
    local candidate
    for candidate in "${BECKON_PYTHON2:-}" python2.7 python2 "$HOME"/.pyenv/versions/2.7*/bin/python; do
        [[ -n "$candidate" ]] && "$candidate" -c 'import sys, pip; sys.exit(sys.version_info[:2] != (2, 7))' 2>/dev/null || continue
        rm -rf "$CACHE/autobahn"
        "$candidate" -W ignore -m pip install -q --disable-pip-version-check --no-deps --target "$CACHE/autobahn/packages" -r autobahn-requirements.txt || return
        command -v "$candidate" >"$CACHE/autobahn/python"
        return
    done
    echo "there is no Python 2.7 with pip" >&2
    return 1
}

mkdir -p node_modules
STAMPS=node_modules once npm package-lock.json -- npm_packages
# One environment: schemathesis, CloudEvents, pywebpush; for `all` Helm's library and the schemas of Kubernetes' objects.
once python requirements.txt -- python_libraries || or_left_out "what tests use of Python"
for name in go go-events gorilla; do
    once "$name" senders/$name/{go.mod,go.sum,main.go} -- go_program "$name"
done
once java senders/java/pom.xml senders/java/src/main/java/Send.java -- java_sender
[[ "${1:-}" == all ]] || exit 0

# It compiles for a minute. Its dependencies need a newer compiler than Debian 12's own; the lock keeps to Debian 13's 1.85.
if command -v cargo >/dev/null && cargo version | awk '{split($2, v, "."); exit !(v[1] > 1 || v[2] >= 85)}'; then
    once rust senders/rust/Cargo.toml senders/rust/Cargo.lock senders/rust/src/main.rs -- rust_sender
else
    echo "==> the Rust sender is left out: it needs cargo 1.85 or later" >&2
fi
once helm requirements.txt helm/requirements.txt -- pip_install -r helm/requirements.txt || or_left_out "Helm's library"
once autobahn autobahn-requirements.txt -- autobahn || or_left_out autobahntestsuite
