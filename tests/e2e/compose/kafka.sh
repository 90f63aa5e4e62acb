#!/usr/bin/env bash
# Starts a broker as Kafka's own image does: KAFKA_NODE_ID=1 in the environment is node.id=1.
set -euo pipefail
env | sed -n 's/^KAFKA_\([A-Z_]*\)=/\1=/p' | while IFS='=' read -r name value; do
    name="${name,,}"
    echo "${name//_/.}=$value"
done >/tmp/server.properties
# The tests' brokers notice within a second what happened.
echo "broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
group.initial.rebalance.delay.ms=0" >>/tmp/server.properties
run() { java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "/opt/kafka/libs/*" "$@"; }
run kafka.tools.StorageTool format --ignore-formatted -t "BbeckonComposeClusterA" -c /tmp/server.properties
exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "/opt/kafka/libs/*" kafka.Kafka /tmp/server.properties
