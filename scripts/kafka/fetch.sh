#!/usr/bin/env bash
# fetch.sh [mirror | 3.9]
#
# Fetches the jars of Apache Kafka from Maven Central into a cache outside the tree, and prints
# where they are. At once when they are already there. `mirror`: those of MirrorMaker 2; `3.9`: the brokers of
# that release.
#
# Cache: $BECKON_KAFKA, or ${XDG_CACHE_HOME:-~/.cache}/beckon/kafka-4.3.1
set -euo pipefail
cd "$(dirname "$0")"

readonly CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon"
case "${1:-}" in
    "") readonly POM=pom.xml WHAT="Apache Kafka 4.3.1 (44 MB of jars)" HOME_OF_KAFKA="${BECKON_KAFKA:-$CACHE/kafka-4.3.1}" ;;
    mirror) readonly POM=mirror.pom.xml WHAT="MirrorMaker of Apache Kafka 4.3.1 (36 MB of jars)" HOME_OF_KAFKA="$CACHE/kafka-mirror-4.3.1" ;;
    3.9) readonly POM=3.9.pom.xml WHAT="Apache Kafka 3.9.1 (45 MB of jars)" HOME_OF_KAFKA="$CACHE/kafka-3.9.1" ;;
    *) echo "fetch.sh: '$1' is not mirror or 3.9" >&2; exit 1 ;;
esac
# Names the pom that the jars were fetched for: a changed one fetches again, as a changed fetch.sh does.
readonly COMPLETE="$HOME_OF_KAFKA/.complete-$(cat "$POM" fetch.sh | sha256sum | cut -c1-16)"

if [[ ! -e "$COMPLETE" ]]; then
    command -v mvn >/dev/null || { echo "fetch.sh: Maven is missing (Debian: apt-get install maven)" >&2; exit 1; }
    echo "==> fetching $WHAT from Maven Central to $HOME_OF_KAFKA" >&2
    mkdir -p "$(dirname "$HOME_OF_KAFKA")"
    # Of two at a time, one fetches and the other finds it done.
    exec 9>"$HOME_OF_KAFKA.lock"
    flock 9
fi
if [[ ! -e "$COMPLETE" ]]; then
    # Into a directory of our own first: a fetch that was interrupted must not look complete.
    part="$(mktemp -d "$HOME_OF_KAFKA.XXXXXX")"
    trap 'rm -rf "$part"' EXIT
    # Maven reports to standard output, which is for the answer; quiet unless it fails.
    report="$(mvn -B -q -f "$POM" dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$part" 2>&1)" || { printf '%s\n' "$report" >&2; exit 1; }
    chmod 755 "$part"
    touch "$part/$(basename "$COMPLETE")"
    rm -rf "$HOME_OF_KAFKA"
    mv -T "$part" "$HOME_OF_KAFKA"
    # With an archive of the classes that it loads, a broker starts in two thirds of the time: one that is ended after a while writes it.
    if [[ -z "${1:-}" ]]; then
        part="$(mktemp -d)"
        BECKON_KAFKA_CLASSES=-XX:ArchiveClassesAtExit timeout 15 ./start.sh "$part" $((10000 + RANDOM % 20000)) >/dev/null 2>&1 || true
        rm -rf "$part"
    fi
    trap - EXIT
fi
echo "$HOME_OF_KAFKA"
