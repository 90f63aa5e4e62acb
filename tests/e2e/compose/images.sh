#!/usr/bin/env bash
# images.sh BINARY
#
# Makes the images of docker-compose.yml where no public registry can be reached: beckon:test from a
# binary that was built on this Debian, kafka:test from the jars of the other tests, nginx:test from
# Debian's package, prometheus:test from what is installed here. Their base is made by debootstrap and kept as beckon-base.
set -euo pipefail

readonly ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)"
readonly BINARY="$(readlink -f "${1:?usage: images.sh BINARY}")"
readonly WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

# The packages of which the base is made; its tag follows them. libwebsockets opens its libev plugin by itself.
packages="$(ldd "$BINARY" | awk '$3 ~ /^\// { print $3 }' | xargs readlink -f | sed 's|.*/|*/|' |
    xargs dpkg -S | cut -d: -f1 | sort -u | paste -sd,),libwebsockets-evlib-ev,openjdk-17-jre-headless,nginx-light,wget,ca-certificates"
readonly packages BASE="beckon-base:$(sha256sum <<<"$packages" | cut -c1-12)"

base() {
    docker image inspect "$BASE" >/dev/null 2>&1 && return
    debootstrap --variant=minbase --include="$packages" \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$WORK/base" >"$WORK/log" || { tail -20 "$WORK/log"; exit 1; }
    rm -rf "$WORK"/base/var/cache/apt "$WORK"/base/usr/share/{doc,man,locale}
    tar -C "$WORK/base" -c . | docker import - "$BASE" >/dev/null
}

# image NAME: from the Dockerfile on standard input, with $WORK/context as its context.
image() { docker build -q -t "$1" -f - "$WORK/context" >/dev/null; }

base
mkdir "$WORK/context"
cp "$BINARY" "$WORK/context/beckon"
cp "$ROOT/packaging/image/health" "$WORK/context/health"
strip --strip-debug "$WORK/context/beckon"
image beckon:test <<END
FROM $BASE
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin beckon \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/beckon /keys
COPY beckon /usr/local/bin/beckon
COPY health /usr/local/lib/beckon/health
ENV BECKON_DATA=/var/lib/beckon
USER 10001:10001
VOLUME /var/lib/beckon
ENTRYPOINT ["beckon"]
END

cp -rL "$("$ROOT/scripts/kafka/fetch.sh")" "$WORK/context/libs"
cp "$ROOT/tests/e2e/compose/kafka.sh" "$WORK/context/"
image kafka:test <<END
FROM $BASE
COPY libs /opt/kafka/libs
COPY kafka.sh /opt/kafka/kafka.sh
VOLUME /var/lib/kafka/data
ENTRYPOINT ["bash", "/opt/kafka/kafka.sh"]
END

image nginx:test <<END
FROM $BASE
ENTRYPOINT ["nginx", "-g", "daemon off;"]
END

# Debian's own, as it is installed here: one binary that needs the C library alone.
cp "$(command -v prometheus)" "$WORK/context/prometheus"
image prometheus:test <<END
FROM $BASE
COPY prometheus /usr/local/bin/prometheus
RUN install -d -m 0700 -o nobody -g nogroup /prometheus
USER nobody
VOLUME /prometheus
ENTRYPOINT ["prometheus"]
END
