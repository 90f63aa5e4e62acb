#!/usr/bin/env bash
# Checks the three models with Spin, and that each finds a fault when any of its rules is missing; says how many states were
# searched and in how much memory.
# Needs spin and gcc (Debian: apt-get install spin). LENGTH=N: records of the log in the first check of ownership.pml;
# 6 take a minute on a quiet machine, 7 many.
set -euo pipefail
cd "$(dirname "$0")"
readonly WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
cp ./*.pml "$WORK"
cd "$WORK"

# check <model> <definitions …>: prints the number of errors found, of states and of MB. A process of a model that waits is no
# error (-E).
check() {
    local model="$1"; shift
    spin "$@" -a "$model.pml" >/dev/null
    gcc -O2 -DSAFETY -DCOLLAPSE -DNOFAIR -DVECTORSZ=512 ${SEARCH:-} -o pan pan.c 2>/dev/null
    ./pan -E -m200000 -w24 2>&1 | awk '/errors:/ {errors = $NF} /states, stored/ {states = $1} /total actual memory/ {mb = $1}
        /max search depth too small|out of memory|Search not completed/ {partly = " partly"} END {print errors, states, mb, partly}'
}

failed=0
expect() {
    local want="$1" what="$2"; shift 2
    local began="$SECONDS" errors states mb partly
    read -r errors states mb partly <<<"$(check "$@")"
    if [[ "$want" == none && "$errors" == 0 && -z "$partly" ]] || [[ "$want" == some && "$errors" -gt 0 ]]; then
        echo "ok      $what ($((SECONDS - began)) s, $states states, $mb MB)"
    else
        echo "FAILED  $what: Spin found ${errors:-no answer} errors, expected $want"
        failed=1
    fi
}

expect none "ownership: the rules hold" ownership -DLENGTH="${LENGTH:-6}"
expect some "without read barriers a live registration is denied" ownership -DNO_BARRIER
expect some "without stamps a late write wins" ownership -DNO_STAMP
expect some "without the true value compaction keeps a late write" ownership -DNO_REPAIR
expect some "without waiting for changes the true value undoes one" ownership -DNO_WAIT -DLENGTH=7
expect some "without reading back a register that lost is answered 200" ownership -DNO_READ_BACK -DLENGTH=7

# sessions <moves> <crashes> <broken links> <reconnects> <changes of controller>: at most so many of each happen.
sessions() { SESSIONS=(sessions -DMOVES="$1" -DCRASHES="$2" -DBREAKS="$3" -DRECONNECTS="$4" -DSUCCESSIONS="$5"); }

sessions 1 0 0 0 0; expect none "sessions: the rules hold while the partition moves" "${SESSIONS[@]}"
sessions 0 0 0 1 0; expect none "… while the client connects again" "${SESSIONS[@]}"
sessions 0 0 0 0 0; expect none "… while a home that lives is taken for gone" "${SESSIONS[@]}" -DSUSPICIONS=1
sessions 0 0 0 0 0; expect some "without a read barrier a live subscription is 410" "${SESSIONS[@]}" -DNO_410_BARRIER
sessions 1 0 0 0 0
expect some "without a standby that is ready a partition goes to a cold node" "${SESSIONS[@]}" -DFAULT=nothing -DNO_READY
expect some "without repeating a register has no answer" "${SESSIONS[@]}" -DFAULT=nothing -DNO_REPEAT
expect some "without the log's time a message comes after its expiry" "${SESSIONS[@]}" -DFAULT=expires -DNO_LOG_TIME
expect some "without session numbers a former home is obeyed" "${SESSIONS[@]}" -DFAULT=deletes -DNO_SESSION
expect some "a client that was removed and is adopted is not notified" "${SESSIONS[@]}" -DFAULT=removes -DADOPTS_ALL
sessions 1 0 0 1 0
expect some "without stamps an old connection pushes the newer one out" "${SESSIONS[@]}" -DFAULT=nothing -DNO_STAMP
expect some "without read barriers a home that was replaced denies a live client" "${SESSIONS[@]}" -DFAULT=nothing -DNO_HELLO_BARRIER
sessions 0 0 0 0 0
expect some "without read barriers a home that was taken for gone denies a live client" "${SESSIONS[@]}" -DSUSPICIONS=1 -DFAULT=nothing -DNO_HELLO_BARRIER
expect some "without session numbers it is obeyed" "${SESSIONS[@]}" -DSUSPICIONS=1 -DFAULT=deletes -DNO_SESSION
sessions 0 1 0 0 1
# Level by level: the fault is near, and a search in depth comes to it late.
SEARCH=-DBFS expect some "without epochs of control a former controller moves a partition" "${SESSIONS[@]}" -DFAULT=nothing -DNO_CONTROL_EPOCH

# suspicion <deaths> <refusals of living nodes> <records of nodes that accuse nobody>
suspicion() { SUSPICION=(suspicion -DKILLS="$1" -DREFUSALS="$2" -DREPORTS="$3"); }

suspicion 1 0 1; expect none "suspicion: the rules hold when a node dies" "${SUSPICION[@]}"
suspicion 2 0 1; expect none "… when two die" "${SUSPICION[@]}"
suspicion 2 0 1; expect none "… when the group's first member is not the one with the smallest id" "${SUSPICION[@]}" -DFIRST=2
suspicion 0 1 1; expect none "… when calls to a node that lives are refused" "${SUSPICION[@]}"
suspicion 1 0 1; expect some "without incarnations a dead node objects" "${SUSPICION[@]}" -DNO_INCARNATION
suspicion 0 2 0; expect some "without objections two nodes take control from each other for ever" "${SUSPICION[@]}" -DNO_OBJECTION
exit "$failed"
