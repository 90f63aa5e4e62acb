#!/usr/bin/env bash
# run.sh SCRIPT: runs compose.mjs, image.mjs or image-from-source.mjs against the Docker engine of this machine, or, as root where none
# runs, against one of its own. Ends with 77 (skipped) where neither is possible.
set -euo pipefail
cd "$(dirname "$0")"

skip() { echo "skipped: $*"; exit 77; }
command -v docker >/dev/null || skip "docker is not installed"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
command -v prometheus >/dev/null || skip "prometheus is not installed"
docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || skip "no docker compose here"

# The engine keeps its images from one run to the next.
readonly STATE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon/docker"
if ! docker info >/dev/null 2>&1; then
    [[ $EUID == 0 ]] && command -v dockerd >/dev/null || skip "no Docker engine runs here, and one can be started as root only"
    run="$(mktemp -d)"
    mkdir -p "$STATE"
    dockerd --data-root "$STATE" --exec-root "$run/exec" --pidfile "$run/pid" -H "unix://$run/socket" >"$run/log" 2>&1 &
    engine=$!
    # What containers leave mounted would make the removal fail.
    stop() {
        kill "$engine" && wait "$engine"
        awk -v run="$run/" 'index($2, run) == 1 { print $2 }' /proc/mounts | xargs -r umount
        rm -rf "$run"
    } 2>/dev/null
    trap 'stop || true' EXIT
    export DOCKER_HOST="unix://$run/socket"
    for _ in {1..300}; do
        docker info >/dev/null 2>&1 && break
        kill -0 "$engine" 2>/dev/null || { tail -5 "$run/log"; trap - EXIT; skip "a Docker engine does not start here"; }
        sleep 0.1
    done
fi
node --test "$1"
