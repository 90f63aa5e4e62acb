#!/usr/bin/env bash
# start.sh DIRECTORY PORT [CONTROLLER_PORT]
#
# Starts one Kafka broker (KRaft, combined mode) on 127.0.0.1 in the foreground. Its data stands in
# DIRECTORY; a second start goes on with it. CONTROLLER_PORT is PORT+1 unless given. For
# development, tests and measuring, not for production: one node, no replication.
#
# Of several brokers each gets BECKON_KAFKA_NODE (1, 2, …), and all of them BECKON_KAFKA_VOTERS
# ("1@127.0.0.1:PORT,2@…", the controllers' ports) and BECKON_KAFKA_CLUSTER (22 characters).
# BECKON_KAFKA_GATES ("PORT:ADVERTISED PORT:ADVERTISED …"): further listeners, each of which sends
# its clients to the port ADVERTISED, where a proxy may stand.
#
# BECKON_KAFKA_LOCKED="PORT MUTUAL FILE": two more listeners, with ACLs: PORT asks for SASL (PLAIN or SCRAM) over TLS, MUTUAL for a
# client's certificate; FILE has their settings (tests/e2e/locked-broker.mjs writes it). Clients of PORT, the second argument of the command,
# may do everything.
#
# BECKON_KAFKA_RACK: where the broker stands; consumers that name their rack then fetch from the replica there (KIP-392).
#
# BECKON_KAFKA_RELEASE=3.9: brokers of that release.
#
# A client that asks for a topic makes it, as by Kafka's own default (auto.create.topics.enable): Beckon must not.
#
# Environment: BECKON_KAFKA_FOR=tests (the default) or measuring. For tests the broker starts fast, and
# compaction acts while a test looks on. For measuring it has the settings, the compiler and the garbage
# collector that a real one has.
# BECKON_KAFKA as fetch.sh has it; JAVA (default: java).
set -euo pipefail

readonly HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
die() { echo "start.sh: $*" >&2; exit 1; }

(($# == 2 || $# == 3)) || die "usage: start.sh DIRECTORY PORT [CONTROLLER_PORT]"
readonly DIRECTORY="$1" PORT="$2" CONTROLLER_PORT="${3:-$(($2 + 1))}" JAVA="${JAVA:-java}"
for port in "$PORT" "$CONTROLLER_PORT"; do
    # From 32768 on the kernel gives ports to outgoing connections: one may hold ours.
    [[ "$port" =~ ^[0-9]+$ ]] && ((port >= 1024 && port < 32768)) ||
        die "'$port' is not a port from 1024 to 32767"
done
command -v "$JAVA" >/dev/null || die "Java 17 or newer is missing (Debian: openjdk-17-jre-headless)"

readonly FOR="${BECKON_KAFKA_FOR:-tests}"
[[ "$FOR" == tests || "$FOR" == measuring ]] || die "BECKON_KAFKA_FOR is '$FOR', it must be tests or measuring"
readonly NODE="${BECKON_KAFKA_NODE:-1}" VOTERS="${BECKON_KAFKA_VOTERS:-1@127.0.0.1:$CONTROLLER_PORT}"
voters="${VOTERS//[^,]/}"
readonly REPLICAS=$((${#voters} + 1))
gates="" advertised="" protocols="" number=0
# A broker names to a client the others' listeners of the same name: the first gate of each is GATE1.
for gate in ${BECKON_KAFKA_GATES:-}; do
    number=$((number + 1))
    gates+=",GATE$number://127.0.0.1:${gate%:*}"
    advertised+=",GATE$number://127.0.0.1:${gate#*:}"
    protocols+=",GATE$number:PLAINTEXT"
done

locked=""
if [[ -n "${BECKON_KAFKA_LOCKED:-}" ]]; then
    read -r locked_port mutual_port locked <<<"$BECKON_KAFKA_LOCKED"
    gates+=",LOCKED://127.0.0.1:$locked_port,MUTUAL://127.0.0.1:$mutual_port"
    advertised+=",LOCKED://127.0.0.1:$locked_port,MUTUAL://127.0.0.1:$mutual_port"
    protocols+=",LOCKED:SASL_SSL,MUTUAL:SSL"
fi

libs="$("$HERE/fetch.sh" ${BECKON_KAFKA_RELEASE:+"$BECKON_KAFKA_RELEASE"})"
mkdir -p "$DIRECTORY"
readonly PROPERTIES="$DIRECTORY/server.properties"
cat >"$PROPERTIES" <<END
process.roles=broker,controller
node.id=$NODE
controller.quorum.voters=$VOTERS
listeners=PLAINTEXT://127.0.0.1:$PORT,CONTROLLER://127.0.0.1:$CONTROLLER_PORT$gates
advertised.listeners=PLAINTEXT://127.0.0.1:$PORT$advertised
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT$protocols
log.dirs=$DIRECTORY/data
default.replication.factor=$REPLICAS
min.insync.replicas=$(((REPLICAS + 1) / 2))
offsets.topic.replication.factor=$REPLICAS
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=$REPLICAS
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
num.network.threads=2
num.io.threads=4
# The default takes 145 MB.
log.cleaner.dedupe.buffer.size=8388608
END

[[ -z "${BECKON_KAFKA_RACK:-}" ]] || cat >>"$PROPERTIES" <<END
broker.rack=$BECKON_KAFKA_RACK
replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector
END
[[ -z "$locked" ]] || cat "$locked" >>"$PROPERTIES"
[[ "$FOR" == measuring ]] || cat >>"$PROPERTIES" <<END
# A broker that was killed is taken back after a second instead of nine.
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
# Compaction acts while a test looks on.
log.cleaner.backoff.ms=200
# (with 0 a broker looks for files to delete all the time, for a sixteenth of a core)
log.segment.delete.delay.ms=100
log.initial.task.delay.ms=0
END

# classes.jsa is an archive of the classes that a broker loads (fetch.sh); a JVM of another version does without.
jvm=("${BECKON_KAFKA_CLASSES:--XX:SharedArchiveFile}=$libs/classes.jsa" -Djava.awt.headless=true
    "-Dlog4j2.configurationFile=$HERE/log4j2.xml")
if [[ ! -e "$DIRECTORY/data/meta.properties" ]]; then
    # 22 characters of base64 = 16 bytes; the first is not '-', the last has no stray bits.
    id="B$(head -c 64 /dev/urandom | base64 -w0 | tr -d '+/=' | cut -c1-20)A"
    id="${BECKON_KAFKA_CLUSTER:-$id}"
    "$JAVA" -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${jvm[@]}" -cp "$libs/*" \
        kafka.tools.StorageTool format --ignore-formatted -t "$id" -c "$PROPERTIES" >/dev/null
fi

how=(-Xms64m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1)
# The options of Kafka's own start scripts (bin/kafka-server-start.sh, bin/kafka-run-class.sh).
[[ "$FOR" == tests ]] || how=(-Xms1G -Xmx1G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20
    -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -XX:MaxInlineLevel=15)
exec "$JAVA" "${how[@]}" "${jvm[@]}" -cp "$libs/*" kafka.Kafka "$PROPERTIES"
