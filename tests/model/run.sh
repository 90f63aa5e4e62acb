#!/usr/bin/env bash
# Checks the ownership model with Spin, then that the model finds a fault when any rule is missing.
# Needs spin and gcc (Debian: apt-get install spin). LENGTH=N: records of the log in the first check; 6 take a minute
# on a quiet machine, 7 many.
set -euo pipefail
cd "$(dirname "$0")"
readonly WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cp ownership.pml "$WORK"
cd "$WORK"

# check <definitions …>: prints the number of errors found.
check() {
    spin "$@" -a ownership.pml >/dev/null
    gcc -O2 -DSAFETY -DCOLLAPSE -DNOFAIR -o pan pan.c 2>/dev/null
    ./pan -m200000 -w24 2>&1 | sed -n 's/.*errors: \([0-9]*\).*/\1/p'
}

failed=0
expect() {
    local want="$1" what="$2"; shift 2
    local errors; errors="$(check "$@")"
    if { [[ "$want" == none && "$errors" == 0 ]] || [[ "$want" == some && "$errors" -gt 0 ]]; }; then
        echo "ok      $what"
    else
        echo "FAILED  $what: Spin found ${errors:-no answer} errors, expected $want"
        failed=1
    fi
}

expect none "the rules hold" -DLENGTH="${LENGTH:-6}"
expect some "without marks a live registration is denied" -DNO_MARK
expect some "without stamps a late write wins" -DNO_STAMP
expect some "without the true value compaction keeps a late write" -DNO_TRUTH
expect some "without waiting for changes the true value undoes one" -DNO_WAIT
expect some "without reading back a register that lost is answered 200" -DNO_READ_BACK
exit "$failed"
