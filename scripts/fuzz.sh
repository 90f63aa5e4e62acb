#!/usr/bin/env bash
# Builds the fuzz targets of tests/fuzz with clang, in build/fuzz, and runs them:
#
#   fuzz.sh                  lists them
#   fuzz.sh NAME [SECONDS]   runs one (60 s by default); inputs that it finds are kept in
#                            build/fuzz/found/<name> and are where the next run begins
#   fuzz.sh --build          builds all
#   fuzz.sh --smoke NAME     runs one that is built, from its corpus alone and with one seed: the same inputs each
#                            time, but where what a target executes follows from addresses (hash tables)
#
# An input that crashes is kept as build/fuzz/<name>-crash-<hash>.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly BUILD=build/fuzz SMOKE_RUNS=20000 SMOKE_SECONDS_MAX=10
names="$(cd tests/fuzz && ls fuzz_*.cpp | sed 's/^fuzz_//; s/\.cpp$//')"

die() { echo "fuzz: $*" >&2; exit 1; }

check_name() { grep -qx -- "$1" <<<"$names" || die "'$1' is none of: $(tr '\n' ' ' <<<"$names")"; }

build() {
    command -v clang++ >/dev/null || die "clang is missing: ./dev setup test"
    [[ -e "$BUILD/build.ninja" ]] ||
        cmake -S . -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++ \
            -DBECKON_FUZZ=ON -DBECKON_SANITIZE=address,undefined >/dev/null
    ninja -C "$BUILD" "$1"
}

# run NAME OPTION ...
run() {
    local name="$1"
    shift
    exec "$BUILD/tests/fuzz/fuzz_$name" -print_funcs=0 -artifact_prefix="$BUILD/$name-" "$@"
}

smoke() {
    local seeds=("tests/fuzz/corpus/$1"/*)
    # Without -use_cmp=0 no run is like another: values that libFuzzer sees compared hold addresses.
    run "$1" -seed=1 -use_cmp=0 -runs="$SMOKE_RUNS" -max_total_time="$SMOKE_SECONDS_MAX" \
        -seed_inputs="$(IFS=,; echo "${seeds[*]}")"
}

fuzz() {
    [[ "$2" =~ ^[1-9][0-9]*$ ]] || die "'$2' is not a number of seconds"
    build "fuzz_$1"
    mkdir -p "$BUILD/found/$1"
    run "$1" -max_total_time="$2" "$BUILD/found/$1" "tests/fuzz/corpus/$1"
}

case "${1:-}" in
    "") echo "$names" ;;
    --build) build fuzz ;;
    --smoke) check_name "${2:-}"; smoke "$2" ;;
    *) check_name "$1"; fuzz "$1" "${2:-60}" ;;
esac
