#!/usr/bin/env bash
# Installs and builds the sender libraries that the end-to-end tests use, and a client library, pinned, each from its own
# registry. Takes a moment when they are there already. A language whose tool is missing or too old for its library is
# left out, and the test says so.
set -euo pipefail
cd "$(dirname "$0")/../tests/e2e/senders"
readonly CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon/senders"
mkdir -p "$CACHE"

# once NAME FILES… -- COMMAND …: runs the command if FILES changed since it last succeeded.
once() {
    local name="$1" stamp
    shift
    local files=()
    while [[ "$1" != -- ]]; do files+=("$1"); shift; done
    shift
    stamp="$CACHE/.$name-$(cat "${files[@]}" | sha256sum | cut -c1-16)"
    [[ -e "$stamp" ]] && return
    echo "==> building the $name sender" >&2
    "$@" >&2
    touch "$stamp"
}

python_sender() {
    python3 -m venv "$CACHE/python"
    "$CACHE/python/bin/pip" install -q --disable-pip-version-check -r python/requirements.txt
}
go_sender() { (cd go && GOFLAGS=-mod=mod go build -o "$CACHE/go-sender" .); }
go_gorilla() { (cd gorilla && GOFLAGS=-mod=mod go build -o "$CACHE/gorilla" .); }
# Locked: the newest superboring and its dependencies need a newer Rust than Debian 13's 1.85.
go_events() { (cd go-events && GOFLAGS=-mod=mod go build -o "$CACHE/go-events" .); }
rust_sender() { (cd rust && cargo build -q --locked --target-dir "$CACHE/rust"); }
java_sender() {
    (cd java && mvn -B -q -DbuildDirectory="$CACHE/java" dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$CACHE/java/lib")
    javac -cp "$CACHE/java/lib/*" -d "$CACHE/java/classes" java/src/main/java/Send.java
}

once python python/requirements.txt -- python_sender
once go go/go.mod go/go.sum go/main.go -- go_sender
once go-events go-events/go.mod go-events/go.sum go-events/main.go -- go_events
once gorilla gorilla/go.mod gorilla/go.sum gorilla/main.go -- go_gorilla
once java java/pom.xml java/src/main/java/Send.java -- java_sender
# The crate's dependencies need a newer compiler than Debian 12's own.
if command -v cargo >/dev/null && cargo version | awk '{split($2, v, "."); exit !(v[1] > 1 || v[2] >= 85)}'; then
    once rust rust/Cargo.toml rust/Cargo.lock rust/src/main.rs -- rust_sender
else
    echo "==> the Rust sender is left out: it needs cargo 1.85 or later" >&2
fi
