#!/usr/bin/env bash
# The steps that take too long for every change: for a timer at night, and before a release.
#
#   nightly.sh             every step, one after the other, whatever fails
#   nightly.sh STEP ...    only these; `list` names them
#
# Prints one line a step, the end of a failed one's output, and at last the failed steps (exit 1). The whole output of a
# step is in build/nightly/<step>.log.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly LOGS=build/nightly FUZZ_SECONDS=60 TAIL_LINES=40 KILLS=1000 POWER_CUTS=30
mapfile -t fuzz_steps < <(scripts/fuzz.sh | sed 's/^/fuzz-/')
readonly STEPS=(test-all "${fuzz_steps[@]}" asan tsan mutants autobahn chaos-embedded chaos-kafka chaos-three-brokers two-builds power-cuts other-debian arm64 image-from-source model sim sim-retry soak)

step() {
    case "$1" in
        # (a test that passes only when it is repeated is a fault)
        test-all) ./dev test all && [[ ! -s "build/${BECKON_PRESET:-release}/flaky.txt" ]] ;;
        fuzz-*) ./dev fuzz "${1#fuzz-}" "$FUZZ_SECONDS" ;;
        asan | tsan) BECKON_PRESET="$1" ./dev test ;;
        mutants) ./dev mutants ;;
        autobahn)
            scripts/e2e-setup.sh all && ./dev build edge_ws_echo &&
                CASES='*' ECHO="build/${BECKON_PRESET:-release}/tests/edge/ws/edge_ws_echo" node tests/e2e/autobahn.mjs
            ;;
        chaos-embedded) ./dev chaos --log embedded --kills "$KILLS" ;;
        chaos-kafka) ./dev chaos --log kafka --kills "$KILLS" ;;
        chaos-three-brokers) ./dev chaos --log kafka --brokers 3 --kills "$KILLS" ;;
        # (every order of an upgrade; BECKON_OLD names the binary of the last release)
        two-builds) ./dev chaos --log kafka --builds all ;;
        power-cuts)
            ./dev build beckon power_cut &&
                export BECKON="build/${BECKON_PRESET:-release}/beckon" &&
                node tests/e2e/power-cut.mjs --rounds "$POWER_CUTS" --seed 100 &&
                node tests/e2e/power-cut.mjs --first-start 3 --seed 100
            ;;
        other-debian)
            # (the package and its test on the other release of Debian that is supported)
            local other=trixie
            [[ "$(. /etc/os-release && echo "$VERSION_CODENAME")" != trixie ]] || other=bookworm
            ./dev build beckon && (
                export BECKON="build/${BECKON_PRESET:-release}/beckon" BECKON_DEBIAN="$other"
                node --test tests/e2e/clean-debian.mjs && { node tests/e2e/own-host/systemd.mjs || [[ $? == 77 ]]; }
            )
            ;;
        # (the package for arm64: cross-compiled, and its binary run by QEMU)
        arm64) scripts/package-in.sh trixie build/packages-arm64 arm64 ;;
        # (the Dockerfile that compiles; 77: no Docker engine starts here)
        image-from-source) tests/e2e/compose/run.sh image-from-source.mjs || [[ $? == 77 ]] ;;
        model) ./dev setup model && tests/model/run.sh ;;
        sim) ./dev sim --seeds 2000..101999 ;;
        sim-retry) ./dev sim --world retry --seeds 2000..101999 ;;
        soak) ./dev bench --soak ;;
    esac
}

[[ "${1:-}" == list ]] && { printf '%s\n' "${STEPS[@]}"; exit; }
chosen=("${@:-${STEPS[@]}}")
for name in "${chosen[@]}"; do
    [[ " ${STEPS[*]} " == *" $name "* ]] || {
        echo "nightly: '$name' is none of: ${STEPS[*]}" >&2
        exit 1
    }
done

mkdir -p "$LOGS"
failed=()
for name in "${chosen[@]}"; do
    began=$SECONDS
    if step "$name" >"$LOGS/$name.log" 2>&1; then
        outcome=ok
    else
        outcome=FAILED
        failed+=("$name")
    fi
    printf '%-20s %-6s %5d s\n' "$name" "$outcome" $((SECONDS - began))
    [[ $outcome == ok ]] || tail -n "$TAIL_LINES" "$LOGS/$name.log"
done

if ((${#failed[@]})); then
    echo "nightly: failed: ${failed[*]} (see $LOGS)"
    exit 1
fi
echo "nightly: all ${#chosen[@]} steps passed"
