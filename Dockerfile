# The image of every role: `docker compose build`, or `docker build -t beckon .`. (packaging/image/Dockerfile has the same end.)
FROM debian:13 AS build
RUN apt-get update && apt-get install -y --no-install-recommends bash ca-certificates
WORKDIR /src
COPY . .
RUN ./dev build beckon && cmake --install build/release --component runtime --strip --prefix /usr/local
# The Debian packages that hold the libraries of the binary, for the next stage. (libwebsockets opens its libev
# plugin by itself: ldd does not see it.)
RUN ldd /usr/local/bin/beckon | awk '$3 ~ /^\// { print $3 }' | xargs -n1 readlink -f \
    | xargs -n1 basename | xargs -I{} dpkg -S '*/{}' | cut -d: -f1 | sort -u > /runtime-packages.txt \
    && echo libwebsockets-evlib-ev >> /runtime-packages.txt

FROM debian:13-slim
COPY --from=build /runtime-packages.txt /tmp/
RUN apt-get update \
    && xargs apt-get install -y --no-install-recommends ca-certificates < /tmp/runtime-packages.txt \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/lib/dpkg/*-old \
        /var/log/apt /var/log/dpkg.log /tmp/runtime-packages.txt \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin beckon \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/beckon /keys /copies
COPY --from=build /usr/local/bin/beckon /usr/local/bin/beckon
COPY packaging/image/entrypoint packaging/image/health /usr/local/lib/beckon/
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Beckon" \
      org.opencontainers.image.description="An event-sourced Web Push service" \
      org.opencontainers.image.licenses="MPL-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
USER 10001:10001
# Every role has its ops port at the same number, where the health check asks.
ENV BECKON_DATA=/var/lib/beckon BECKON_OPS_PORT=9090
VOLUME /var/lib/beckon
EXPOSE 8080 8082 8084 8085
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 CMD ["/usr/local/lib/beckon/health"]
ENTRYPOINT ["/usr/local/lib/beckon/entrypoint"]
