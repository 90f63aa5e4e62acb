#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs one: scripts/fuzz.sh [NAME [SECONDS]].
# Inputs that it finds are kept in build/fuzz/tests/fuzz/<name>; one that crashes is named at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

name="${1:-}"
seconds="${2:-60}"
names="$(cd tests/fuzz && ls fuzz_*.cpp | sed 's/^fuzz_//; s/\.cpp$//')"
if [[ -z "$name" ]]; then
    echo "$names"
    exit 0
fi
grep -qx -- "$name" <<<"$names" || {
    echo "fuzz: '$name' is none of: $(tr '\n' ' ' <<<"$names")" >&2
    exit 1
}
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || {
    echo "fuzz: '$seconds' is not a number of seconds" >&2
    exit 1
}

cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++ \
    -DBECKON_FUZZ=ON -DBECKON_SANITIZE=address,undefined >/dev/null
ninja -C build/fuzz "fuzz_$name"
cd build/fuzz/tests/fuzz
mkdir -p "$name"
exec "./fuzz_$name" -max_total_time="$seconds" "$name" "$OLDPWD/tests/fuzz/corpus/$name"
