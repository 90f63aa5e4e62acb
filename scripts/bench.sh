#!/usr/bin/env bash
# bench.sh BINARY [OPTION ...]
#
# Measures Beckon on this machine. First the endpoint alone over the memory log, next to a bare Beast
# server (`ingest_bench`, beside BINARY); then all of it on each log in turn: fresh servers, and
# `beckon-bench` with its profiles idle, latency, saturation and drain. Prints tables and stores
# build/bench/<name>.json.
#
#   --only LIST       comma-separated: endpoint, embedded (sync = always), embedded-interval,
#                     embedded-never, kafka, sustained, beside-kafka, stored, cluster, reliability, retry, store, tools,
#                     console, clients; default endpoint,embedded,embedded-never,kafka. sustained: on the embedded log
#                     and on Kafka, messages a second, times and the CPU of each process per message: of 1, 8, 64 and
#                     256 senders that each wait for their 201, at 200, 1,000, 4,000 and 8,000 a second, and at the
#                     highest rate at which 99 in 100 messages take less than 100 ms from the POST
#                     to the frame, 30 s each; and how many clients a second connect, say hello and register
#                     (40 minutes in all; options of `beckon-bench` do not reach it). And by turns with Beckon
#                     the CPU that Kafka alone takes for the same records, three rounds at each rate and of 256 senders
#                     (--only beside-kafka: this alone, 10 minutes).
#                     stored: latency and CPU at 1,000 a second and of 64 senders, on both
#                     logs, while none, a million and ten million messages wait for other clients (--stored LIST).
#                     cluster: several edges on Kafka: how long the death or the restart of
#                     one keeps clients waiting, the cost of a hop over a link, how fast a store is restored. tools:
#                     `replay show` and `trace` on a million messages, of each log and through an ops port. console: the
#                     cost of a console that shows 1,000 partitions, without a reader, while Prometheus scrapes and
#                     while a browser follows (at most 1 % of a core), and how soon a browser has the page and its first
#                     table. store: a client's read and the end of a month in a store of ten and of a million messages.
#                     reliability: how fast milestones are folded (at least 200,000/s), and the latency profile on Kafka
#                     with none, one in a hundred and all messages tracked, while no process folds them: all may cost
#                     endpoint and edge a tenth. clients: memory of idle clients, plain and with TLS, while they are
#                     there and after they have left (at most 5 KiB and 20 KiB each, and a quarter of that); 10,000, or
#                     as many as --idle-connections says, in processes of 10,000, and as 30,000 if it is not fewer
#   --soak            only the endpoint, with ten million requests: its heap must not grow
#   --quick           a tenth of the time and of the connections: shows that it works, measures
#                     nothing that one could quote
#   --parts LIST      comma-separated: parts of --only sustained, where the machine is quiet for some minutes at a time:
#                     embedded-senders, embedded-rates, embedded-highest, embedded-registering, the same with kafka,
#                     beside-1, beside-2 and beside-3 (the rounds). Each takes at most 8 minutes. What other parts have
#                     measured stays in build/bench, and the tables have all of it
#   --stored LIST     comma-separated: how many messages wait, for --only stored; default 0,1000000,10000000
#   --keep            leave the servers' data and logs in build/bench/run
# Everything else goes to `beckon-bench` (see its --help), after the defaults below.
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "bench: $*" >&2; exit 1; }
say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }

for option in "$@"; do
    # Prints the comment above.
    [[ "$option" != --help && "$option" != -h ]] || { sed -n '2,/^set/{s/^# \{0,1\}//p}' "$0"; exit; }
done
(($# >= 1)) || die "usage: scripts/bench.sh BINARY [OPTION ...]"
BINARY="$(realpath "$1")"
readonly BINARY
shift
[[ -x "$BINARY" ]] || die "$BINARY is not there: build it first (./dev build)"

# The defaults of this script; an option given by hand replaces its own.
# 10 s of warming up: a broker's first 8,000 messages are slow until the JVM has compiled.
declare -A defaults=([--connections]=1000 [--rate]=1000 [--duration]=20 [--warm-up]=10 [--body]=300
    [--idle-connections]=10000 [--drain-messages]=1000)
only=endpoint,embedded,embedded-never,kafka
keep=no
endpoint_options=()
# As many senders as the rate needs: each waits for its 201, and 64 would end at 64 in each 201's time.
sustained_options=(--duration 30 --warm-up 5 --rate-max 64000)
sustained_rates=(200 1000 4000 8000)
closed_senders=(1 8 64 256)
stored_counts=(0 1000000 10000000)
parts=()  # of --only sustained; none: all
beside_options=(--duration 10 --warm-up 5)
beside_rounds=3
partitions=12  # of Beckon's topics on Kafka, as a new log has them, and of those of Kafka alone
registering_clients=10000
broker_warm_up=50  # seconds at 4,000 messages each
fold_options=()
retry_options=()
tools_options=()
cluster_options=()
console_options=()
options=()
while (($#)); do
    case "$1" in
        --only) (($# >= 2)) || die "--only needs a list"; only="$2"; shift ;;
        --soak) only=endpoint; endpoint_options=(--soak 10000000) ;;
        --quick) defaults+=([--connections]=200 [--duration]=2 [--warm-up]=1
            [--idle-connections]=1000 [--drain-messages]=200)
            endpoint_options=(--duration 1)
            sustained_options=(--duration 2 --warm-up 1 --rate-max 2000)
            sustained_rates=(200 500)
            closed_senders=(1 8)
            stored_counts=(0 2000)
            beside_options=(--duration 2 --warm-up 1)
            beside_rounds=1
            registering_clients=1000
            broker_warm_up=1
            fold_options=(100000)
            retry_options=(--quick)
            tools_options=(--messages 100000)
            console_options=(PARTITIONS=100 SECONDS=5)
            cluster_options=(--quick) ;;
        --keep) keep=yes ;;
        --parts) (($# >= 2)) || die "--parts needs a list"; IFS=, read -ra parts <<<"$2"; shift ;;
        --stored) (($# >= 2)) || die "--stored needs a list of counts"; IFS=, read -ra stored_counts <<<"$2"; shift ;;
        *) options+=("$1") ;;
    esac
    shift
done
for name in "${options[@]}"; do unset "defaults[${name%%=*}]"; done
for name in "${!defaults[@]}"; do options+=("$name" "${defaults[$name]}"); done

((${#parts[@]} == 0)) || [[ "$only" == sustained ]] || die "--parts goes with --only sustained"
for part in "${parts[@]}"; do
    [[ "$part" =~ ^((embedded|kafka)-(senders|rates|highest|registering)|beside-[1-9])$ ]] ||
        die "'$part' is not a part of sustained (see --help)"
    [[ "$part" != beside-* ]] || ((${part#beside-} <= beside_rounds)) || die "'$part': there are $beside_rounds rounds"
done

readonly OUT=build/bench RUN=build/bench/run
rm -rf "$RUN"
((${#parts[@]})) || rm -f "$OUT"/{sustained,beside,bare}-*.json
mkdir -p "$RUN"

pids=()  # what this script started, in order
stop_all() {
    local pid
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    pids=()
}
leave() {
    stop_all
    [[ $keep == yes ]] || rm -rf "$RUN"
}
trap leave EXIT
trap 'exit 130' INT TERM

# Below 32768: the kernel gives ports from there on to outgoing connections. Fifteen in a row, for
# all processes of one run.
free_ports() {
    local base port
    for _ in {1..100}; do
        base=$((20000 + RANDOM % 12000))
        for ((port = base; port < base + 15; port++)); do
            if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then continue 2; fi
        done
        echo "$base"
        return
    done
    die "no free ports"
}

# start NAME COMMAND ...: in the background, output to a file; sets `started` to its pid.
start() {
    local name="$1"
    shift
    "$@" >"$RUN/$name.log" 2>&1 &
    started=$!
    pids+=("$started")
}

# wait_for NAME PID PORT PATH: until HTTP answers 200 there.
wait_for() {
    local name="$1" pid="$2" port="$3" path="$4" status
    for _ in {1..600}; do
        kill -0 "$pid" 2>/dev/null || { tail -5 "$RUN/$name.log" >&2; die "$name has ended"; }
        status="$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port$path" || true)"
        [[ "$status" == 200 ]] && return
        sleep 0.1
    done
    tail -5 "$RUN/$name.log" >&2
    die "$name is not ready after a minute"
}

wait_for_port() {
    local name="$1" pid="$2" port="$3"
    for _ in {1..600}; do
        kill -0 "$pid" 2>/dev/null || { tail -5 "$RUN/$name.log" >&2; die "$name has ended"; }
        if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
        sleep 0.1
    done
    die "$name does not listen after a minute"
}

measure() {
    local log="$1" edge_port="$2"
    shift 2
    "$(dirname "$BINARY")/beckon-bench" "ws://127.0.0.1:$edge_port/" --label "$log" --json-file "$OUT/$log.json" \
        "$@" "${options[@]}"
}

bench_endpoint() {
    "$(dirname "$BINARY")/tests/ingest/ingest_bench" --json-file "$OUT/endpoint.json" "${endpoint_options[@]}"
}

# standalone NAME SYNC: a standalone with its data in a directory of that name. Sets `standalone` to its pid, and
# `edge_port`.
standalone() {
    local name="$1" sync="$2" base
    base="$(free_ports)"
    edge_port=$((base + 1))
    start standalone "$BINARY" standalone --data "$RUN/$name" --embedded-sync "$sync" --endpoint-port "$base" \
        --edge-port "$edge_port" --ops-port $((base + 2)) --retry-port 0 --console-port 0 --log-level warn
    standalone=$started
    wait_for_port standalone "$standalone" "$edge_port"
    wait_for standalone "$standalone" $((base + 2)) /ready
}

bench_embedded() {
    local standalone edge_port
    standalone "$1" "$2"
    measure "$1" "$edge_port" --pid "standalone=$standalone"
}

# kafka_cluster NAME [OPTION ...]: a broker, an endpoint with these options and an edge. Sets `kafka`,
# `endpoint` and `edge` to their pids, `kafka_server` and `edge_port`.
kafka_cluster() {
    local name="$1"
    shift
    kafka_broker "$name"
    kafka_services "$name" "$@"
}

# kafka_broker NAME: a broker with Beckon's topics, and `base`, the first of its ports.
kafka_broker() {
    local name="$1"
    base="$(free_ports)"
    kafka_server="127.0.0.1:$base"
    mkdir -p "$RUN/$name"
    BECKON_KAFKA_FOR=measuring start kafka scripts/kafka/start.sh "$RUN/$name/kafka" "$base" $((base + 1))
    kafka=$started
    wait_for_port kafka "$kafka" "$base"
    "$BINARY" keys generate --key-ring "$RUN/$name/keys.json" >/dev/null
    create_topics "$name"
}

# create_topics NAME [OPTION ...]
create_topics() {
    local name="$1"
    shift
    "$BINARY" topics create --kafka-servers "$kafka_server" --replication-factor 1 --partitions "$partitions" \
        --key-ring "$RUN/$name/keys.json" --log-level warn "$@" >"$RUN/topics.log" 2>&1 ||
        { cat "$RUN/topics.log" >&2; die "topics create failed"; }
}

# kafka_services NAME [OPTION ...]: an endpoint with these options and an edge.
kafka_services() {
    local name="$1"
    shift
    local common=(--kafka-servers "$kafka_server" --replication-factor 1
        --key-ring "$RUN/$name/keys.json" --log-level warn)
    local url=(--endpoint-url "http://127.0.0.1:$((base + 2))")
    edge_port=$((base + 4))
    start endpoint "$BINARY" endpoint "${common[@]}" "${url[@]}" --data "$RUN/$name/endpoint" \
        --endpoint-port $((base + 2)) --ops-port $((base + 3)) "$@"
    endpoint=$started
    start edge "$BINARY" edge "${common[@]}" "${url[@]}" --data "$RUN/$name/edge" \
        --edge-port "$edge_port" --ops-port $((base + 5)) --edge-link-port 0
    edge=$started
    wait_for_port endpoint "$endpoint" $((base + 2))
    wait_for_port edge "$edge" "$edge_port"
    wait_for endpoint "$endpoint" $((base + 3)) /ready
    wait_for edge "$edge" $((base + 5)) /ready
}

stop_services() {
    kill -TERM "$endpoint" "$edge"
    wait "$endpoint" "$edge" || true
    endpoint="" edge=""
}

# A broker's compiler needs some 200,000 messages until it has done its work.
warm_broker_up() {
    "$(dirname "$BINARY")/beckon-bench" "ws://127.0.0.1:$edge_port/" --profiles latency --rate 4000 --warm-up 0 \
        --duration "$broker_warm_up" --connections 200 >"$RUN/warm-up.log" 2>&1 || true
}

bench_kafka() {
    local base kafka kafka_server endpoint edge edge_port
    kafka_cluster kafka
    measure kafka "$edge_port" --pid "endpoint=$endpoint" --pid "edge=$edge" --pid "broker=$kafka"
}

# wanted PATTERN ...: whether a part that was asked for matches one of them.
wanted() {
    local pattern part
    ((${#parts[@]})) || return 0
    for pattern in "$@"; do
        for part in "${parts[@]}"; do
            # shellcheck disable=SC2053 # a pattern
            [[ "$part" != $pattern ]] || return 0
        done
    done
    return 1
}

# load_of FILE OPTION ...: beckon-bench, with its result in that file.
load_of() {
    local file="$OUT/$1.json"
    shift
    rm -f "$file"
    "$(dirname "$BINARY")/beckon-bench" "$@" --json-file "$file"
}

# sustained_on LOG EDGE_PORT --pid NAME=PID ...: the cost of a message with so many senders that wait for
# their 201, then at each rate, then at the highest rate.
sustained_on() {
    local log="$1" edge_port="$2" senders rate result=0
    shift 2
    if wanted "$log-senders"; then
        for senders in "${closed_senders[@]}"; do
            load_of "sustained-$log-closed-$senders" "ws://127.0.0.1:$edge_port/" --connections 200 --senders "$senders" \
                "${sustained_options[@]:0:4}" "$@" --profiles saturation --ahead 0 --label "$log, $senders senders" || result=1
        done
    fi
    local common=("ws://127.0.0.1:$edge_port/" --connections 200 --senders 512 "${sustained_options[@]}" "$@")
    if wanted "$log-rates"; then
        for rate in "${sustained_rates[@]}"; do
            load_of "sustained-$log-$rate" "${common[@]}" --profiles latency --rate "$rate" --label "$log at $rate/s" ||
                result=1
        done
    fi
    if wanted "$log-highest"; then
        load_of "sustained-$log" "${common[@]}" --profiles sustained --rate 1000 --label "$log" || result=1
    fi
    if wanted "$log-registering"; then
        # Three times: at first a broker's compiler costs more than all else, so the last one counts.
        for _ in 1 2 3; do
            load_of "sustained-$log-registering" "${common[@]}" --profiles idle --idle-register \
                --idle-connections "$registering_clients" --label "$log, registering" || result=1
        done
    fi
    return $result
}

bench_sustained() {
    local standalone base kafka kafka_server endpoint edge edge_port result=0
    say "load: $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) cores"
    if wanted "embedded-*"; then
        standalone sustained always
        sustained_on embedded "$edge_port" --pid "standalone=$standalone" || result=1
        stop_all
    fi
    if wanted "kafka-*" "beside-*"; then
        kafka_cluster sustained-kafka
        warm_broker_up
        sustained_on kafka "$edge_port" --pid "endpoint=$endpoint" --pid "edge=$edge" \
            --pid "broker=$kafka" || result=1
    fi
    compare_sustained || result=1
    ! wanted "beside-*" || beside_kafka sustained-kafka || result=1
    return $result
}

bench_beside_kafka() {
    local base kafka kafka_server endpoint edge edge_port
    kafka_cluster beside
    warm_broker_up
    beside_kafka beside
}

# beside_kafka NAME: what Beckon costs, and by turns what the same broker and librdkafka alone cost for the same records.
# While one runs, the other does not: a consumer that waits for records costs the broker a little, too.
beside_kafka() {
    local name="$1" round rate senders="${closed_senders[-1]}" result=0
    create_topics "$name" --kafka-prefix bare.
    for ((round = 1; round <= beside_rounds; ++round)); do
        wanted "beside-$round" || continue
        say "Beckon and Kafka alone by turns, round $round of $beside_rounds"
        [[ -n "$endpoint" ]] || kafka_services "$name"
        local common=("ws://127.0.0.1:$edge_port/" --connections 200 "${beside_options[@]}" --pid "endpoint=$endpoint"
            --pid "edge=$edge" --pid "broker=$kafka" --label beside)
        for rate in "${sustained_rates[@]}"; do
            "$(dirname "$BINARY")/beckon-bench" "${common[@]}" --senders 512 --profiles latency --rate "$rate" \
                --json-file "$OUT/beside-$rate-$round.json" >"$RUN/beside.log" || result=1
        done
        "$(dirname "$BINARY")/beckon-bench" "${common[@]}" --senders "$senders" --profiles saturation --ahead 0 \
            --json-file "$OUT/beside-saturation-$round.json" >"$RUN/beside.log" || result=1
        stop_services
        for rate in "${sustained_rates[@]}"; do
            bare_kafka "$rate" "$rate-$round" || return 1
        done
        bare_kafka "$(python3 -c 'import json, sys
print(round(json.load(open(sys.argv[1]))["saturation"]["messages_per_s"]))' "$OUT/beside-saturation-$round.json")" \
            "saturation-$round" || return 1
    done
    compare_beside
    return $result
}

# bare_kafka RATE NAME: the CPU that the broker takes for the same records of librdkafka alone.
bare_kafka() {
    "$(dirname "$BINARY")/tests/log/bare_kafka" "$kafka_server" bare.notifications "$partitions" "$1" "${beside_options[1]}" \
        "$kafka" >"$OUT/bare-$2.json"
}

compare_beside() {
    python3 - "$OUT" "$beside_rounds" "${closed_senders[-1]}" "${sustained_rates[*]}" <<'PYTHON'
import json, os, statistics, sys
out, rounds, senders, rates = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4].split()
turns = [turn for turn in range(1, rounds + 1) if os.path.exists(f"{out}/bare-saturation-{turn}.json")]
def median(load, what):
    return statistics.median(what(load, turn) for turn in turns)
def read(file):
    return json.load(open(f"{out}/{file}.json"))
def beckon(load, turn):
    return read(f"beside-{load}-{turn}")["saturation" if load == "saturation" else "latency"]
def bare(load, turn):
    return read(f"bare-{load}-{turn}")
def part(name):
    return lambda load, turn: next(one["us_per_message"] for one in beckon(load, turn)["cpu"]["processes"] if one["name"] == name)
print(f"Beckon on Kafka and Kafka alone by turns, medians of {len(turns)}: us of CPU a message (wanted: at most 1.2 x)")
print(f"{'load':>12} {'messages/s':>10} {'Beckon = endpoint + edge + broker':>36} {'POST to frame':>17} {'Kafka alone = client + broker':>31} {'publish to fetch':>17}")
for load in rates + ["saturation"]:
    parts = [median(load, part(name)) for name in ("endpoint", "edge", "broker")]
    ours = median(load, lambda load, turn: beckon(load, turn)["cpu"]["us_per_message"])
    theirs = [median(load, lambda load, turn: bare(load, turn)[name]) for name in ("clients_us", "broker_us")]
    ms = lambda what, p50, p99: f"{median(load, lambda *at: what(*at)[p50]):.1f} / {median(load, lambda *at: what(*at)[p99]):.1f} ms"
    frame = ms(lambda *at: beckon(*at)["post_to_frame"], "p50_ms", "p99_ms")
    name = f"{senders} senders" if load == "saturation" else f"{load}/s"
    print(f"{name:>12} {median(load, lambda *at: beckon(*at)['messages_per_s']):10.0f}"
          f" {f'{ours:.0f} = ' + ' + '.join(f'{one:.0f}' for one in parts):>36} {frame:>17}"
          f" {f'{sum(theirs):.0f} = ' + ' + '.join(f'{one:.0f}' for one in theirs):>31} {ms(bare, 'p50_ms', 'p99_ms'):>17}  {ours / sum(theirs):.2f} x")
PYTHON
}

# One table of all that was measured.
compare_sustained() {
    python3 - "$OUT" "$(nproc)" "${closed_senders[*]}" "${sustained_rates[*]}" <<'PYTHON'
import json, os, sys
out, cores = sys.argv[1], int(sys.argv[2])
senders, rates = (one.split() for one in sys.argv[3:])
print(f"{'log':9} {'load':>16} {'messages/s':>10} {'POST to 201':>15} {'POST to frame':>17} {'201 to frame':>15}  idle  CPU us a message")
print(f"{'':37} {'p50 / p99 ms':>15} {'p50 / p99 ms':>17} {'p50 / p99 ms':>15}")
for log in ("embedded", "kafka"):
    runs = [(f"{n} senders", f"sustained-{log}-closed-{n}.json", "saturation") for n in senders]
    runs += [(f"{rate}/s", f"sustained-{log}-{rate}.json", "latency") for rate in rates]
    for name, file, profile in runs + [("highest rate", f"sustained-{log}.json", "sustained")]:
        if not os.path.exists(f"{out}/{file}"):
            continue  # of a part that was not asked for
        run = json.load(open(f"{out}/{file}"))[profile]
        if "post_to_frame" not in run:
            print(f"{log:9} {name:>16}  none of the rates that were tried")
            continue
        cpu = run["cpu"]
        each = " + ".join(f"{one['name']} {one['us_per_message']:.0f}" for one in cpu["processes"])
        used = sum(one["cores"] for one in cpu["processes"]) + cpu["generator_cores"]
        def of(times, width):
            return f"{run[times]['p50_ms']:.1f} / {run[times]['p99_ms']:.1f}".rjust(width)
        print(f"{log:9} {name:>16} {run['messages_per_s']:10.0f} {of('post_to_201', 15)} {of('post_to_frame', 17)} {of('201_to_frame', 15)}"
              f" {max(0, 100 * (1 - used / cores)):4.0f}%  {cpu['us_per_message']:.0f} = {each}")
    if not os.path.exists(f"{out}/sustained-{log}-registering.json"):
        continue
    idle = json.load(open(f"{out}/sustained-{log}-registering.json"))["idle"]
    print(f"{log:9} {idle['connections'] / idle['opening_s']:.0f} clients a second connect, say hello and register")
PYTHON
}

# stored_on LOG EDGE_PORT --pid NAME=PID ...: what a message costs while more and more others wait.
stored_on() {
    local log="$1" edge_port="$2" count before=0 result=0
    shift 2
    local url="ws://127.0.0.1:$edge_port/"
    for count in "${stored_counts[@]}"; do
        if ((count > before)); then
            "$(dirname "$BINARY")/beckon-bench" "$url" --profiles fill --fill-messages $((count - before)) \
                --connections 10000 --senders 256 --ttl 86400 --label "$log, $count stored" \
                --json-file "$OUT/stored-$log-$count-fill.json" || return 1
        fi
        before=$count
        "$(dirname "$BINARY")/beckon-bench" "$url" --profiles latency,saturation --rate 1000 --connections 200 \
            --senders 64 "${sustained_options[@]:0:4}" "$@" --label "$log, $count stored" \
            --json-file "$OUT/stored-$log-$count.json" || result=1
    done
    return $result
}

bench_stored() {
    local standalone base kafka kafka_server endpoint edge edge_port result=0
    say "load: $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) cores"
    standalone stored always
    stored_on embedded "$edge_port" --pid "standalone=$standalone" || result=1
    stop_all
    rm -rf "$RUN/stored"
    kafka_cluster stored-kafka
    warm_broker_up
    stored_on kafka "$edge_port" --pid "endpoint=$endpoint" --pid "edge=$edge" --pid "broker=$kafka" || result=1
    python3 - "$OUT" "${stored_counts[*]}" <<'PYTHON' || result=1
import json, sys
out, counts = sys.argv[1], sys.argv[2].split()
worst = 0
for log in ("embedded", "kafka"):
    runs = {count: json.load(open(f"{out}/stored-{log}-{count}.json")) for count in counts}
    first = runs[counts[0]]
    for count, run in runs.items():
        latency, closed = run["latency"], run["saturation"]
        cpu = latency["cpu"]["us_per_message"]
        more = cpu / first["latency"]["cpu"]["us_per_message"] - 1
        less = 1 - closed["messages_per_s"] / first["saturation"]["messages_per_s"]
        worst = max(worst, more, less)
        times = latency["post_to_frame"]
        print(f"{log:9} {count:>9} wait: 1,000/s p50 {times['p50_ms']:.2f} p99 {times['p99_ms']:.2f} ms, {cpu:.0f} us a message"
              f" ({100 * more:+.0f} %); 64 senders {closed['messages_per_s']:.0f}/s ({-100 * less:+.0f} %)")
print(f"at worst {100 * worst:.0f} % more CPU or fewer messages than with an empty store (wanted: at most 25 %)")
sys.exit(worst > 0.25)
PYTHON
    return $result
}

# tracked NAME SHARE: SHARE of 100 messages are signed with the key that the endpoint tracks. No process folds their
# milestones: it measures the cost of endpoint and edge, which deliver without the role.
bench_tracked() {
    local name="$1" share="$2" few result=0 base kafka kafka_server endpoint edge edge_port
    few=$((${rate_of_all%%.*} * share / 100))
    local keys=()
    ((share == 0)) || keys=(--endpoint-tracking-keys "$tracked_key")
    kafka_cluster "$name" "${keys[@]}"
    local signing=(--profiles latency --vapid sign)
    local processes=(--pid "endpoint=$endpoint" --pid "edge=$edge")
    if ((share == 1)); then  # a second generator brings the tracked ones
        "$(dirname "$BINARY")/beckon-bench" "ws://127.0.0.1:$edge_port/" "${options[@]}" "${signing[@]}" \
            --vapid-key "$RUN/vapid.json" --rate "$((few > 0 ? few : 1))" --connections 10 \
            >"$RUN/$name-few.log" 2>&1 &
        pids+=($!)
        measure "$name" "$edge_port" "${signing[@]}" "${processes[@]}" || result=1
    else
        measure "$name" "$edge_port" "${signing[@]}" --vapid-key "$RUN/vapid.json" \
            "${processes[@]}" || result=1
    fi
    stop_all
    return $result
}

# Compares the CPU times: 100 % tracked may cost a tenth.
compare_tracked() {
    python3 - "$OUT" "$rounds" <<'PYTHON'
import json, statistics, sys
out, rounds = sys.argv[1], int(sys.argv[2])
def cost(share, turn):
    return json.load(open(f"{out}/reliability-{share}-{turn}.json"))["latency"]["cpu"]["us_per_message"]
us = {share: [cost(share, turn) for turn in range(1, rounds + 1)] for share in (0, 1, 100)}
median = {share: statistics.median(each) for share, each in us.items()}
more = {share: 100 * (median[share] / median[0] - 1) for share in (1, 100)}
for share, each in us.items():
    print(f"{share:3} % tracked: " + ", ".join(f"{one:.1f}" for one in each) + " us a message")
print(f"endpoint and edge, medians: {median[0]:.1f} us a message; {more[1]:+.1f} % with 1 % tracked, "
      f"{more[100]:+.1f} % with all tracked (wanted: at most 10 %)")
sys.exit(more[100] > 10)
PYTHON
}

bench_reliability() {
    local tracked_key rate_of_all=1000 i result=0
    "$(dirname "$BINARY")/tests/reliability/reliability_bench" "$OUT/reliability-fold.json" \
        "${fold_options[@]}" || result=1
    for ((i = 0; i + 1 < ${#options[@]}; ++i)); do
        [[ "${options[i]}" != --rate ]] || rate_of_all="${options[i + 1]}"
    done
    tracked_key="$("$BINARY" keys vapid "$RUN/vapid.json" | grep -oE 'B[A-Za-z0-9_-]{86}' | head -1)"
    [[ -n "$tracked_key" ]] || die "keys vapid printed no public key"
    local share turn rounds=3  # in turns, so that other work of the machine falls on all of them
    for ((turn = 1; turn <= rounds; ++turn)); do
        for share in 0 1 100; do
            say "$share of 100 messages tracked, round $turn of $rounds"
            bench_tracked "reliability-$share-$turn" "$share" || return 1
        done
    done
    compare_tracked || result=1
    return $result
}

bench_retry() {
    local bench base kafka result=0
    bench="$(dirname "$BINARY")/tests/retry/retry_bench"
    say "retry on the embedded log"
    "$bench" "$OUT/retry-embedded.json" "${retry_options[@]}" || result=1
    say "retry on Kafka"
    base="$(free_ports)"
    BECKON_KAFKA_FOR=measuring start kafka scripts/kafka/start.sh "$RUN/kafka-retry" "$base" $((base + 1))
    kafka=$started
    wait_for_port kafka "$kafka" "$base"
    "$BINARY" keys generate --key-ring "$RUN/keys-retry.json" >/dev/null
    "$BINARY" topics create --kafka-servers "127.0.0.1:$base" --replication-factor 1 --partitions 8 \
        --tiers 0s,2s,1h --key-ring "$RUN/keys-retry.json" >"$RUN/topics-retry.log" 2>&1 ||
        { cat "$RUN/topics-retry.log" >&2; die "topics create failed"; }
    "$bench" "$OUT/retry-kafka.json" --kafka "127.0.0.1:$base" --waiting 1000000 \
        "${retry_options[@]}" || result=1
    say "what kills cost is counted by: KILLS=200 node --test --test-name-pattern='lose nothing' tests/e2e/webhooks.mjs"
    return $result
}

bench_cluster() {
    BECKON="$BINARY" BECKON_KAFKA_FOR=measuring node tests/e2e/cluster-bench.mjs --json "$OUT/cluster.json" \
        "${cluster_options[@]}"
}

bench_clients() {
    local i count=10000
    for ((i = 0; i + 1 < ${#options[@]}; ++i)); do
        [[ "${options[i]}" != --idle-connections ]] || count="${options[i + 1]}"
    done
    ((count < 10000)) || count+=",30000"  # or as many as a process has descriptors for
    BECKON="$BINARY" node tests/e2e/idle-memory.mjs --clients "$count" --json "$OUT/clients.json"
}

bench_store() {
    "$(dirname "$BINARY")/tests/store/store_million_test" | tee "$OUT/store.txt"
}

bench_tools() {
    local bench base kafka result=0
    bench="$(dirname "$BINARY")/tests/tools/tools_bench"
    say "load: $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) cores"
    "$bench" "$OUT/tools-embedded.json" "${tools_options[@]}" || result=1
    base="$(free_ports)"
    BECKON_KAFKA_FOR=measuring start kafka scripts/kafka/start.sh "$RUN/kafka-tools" "$base" $((base + 1))
    kafka=$started
    wait_for_port kafka "$kafka" "$base"
    "$BINARY" keys generate --key-ring "$RUN/keys-tools.json" >/dev/null
    "$BINARY" topics create --kafka-servers "127.0.0.1:$base" --replication-factor 1 \
        --key-ring "$RUN/keys-tools.json" >"$RUN/topics-tools.log" 2>&1 ||
        { cat "$RUN/topics-tools.log" >&2; die "topics create failed"; }
    "$bench" "$OUT/tools-kafka.json" --kafka "127.0.0.1:$base" "${tools_options[@]}" || result=1
    return $result
}

bench_console() {
    env BECKON="$BINARY" JSON_FILE="$OUT/console.json" "${console_options[@]}" node tests/e2e/console-cost.mjs
}

failed=()
for log in ${only//,/ }; do
    say "measuring $log"
    case "$log" in
        endpoint) bench_endpoint || failed+=("$log") ;;
        embedded) bench_embedded embedded always || failed+=("$log") ;;
        embedded-interval) bench_embedded embedded-interval interval || failed+=("$log") ;;
        embedded-never) bench_embedded embedded-never never || failed+=("$log") ;;
        kafka) bench_kafka || failed+=("$log") ;;
        sustained) bench_sustained || failed+=("$log") ;;
        beside-kafka) bench_beside_kafka || failed+=("$log") ;;
        stored) bench_stored || failed+=("$log") ;;
        retry) bench_retry || failed+=("$log") ;;
        store) bench_store || failed+=("$log") ;;
        tools) bench_tools || failed+=("$log") ;;
        cluster) bench_cluster || failed+=("$log") ;;
        console) bench_console || failed+=("$log") ;;
        reliability) bench_reliability || failed+=("$log") ;;
        clients) bench_clients || failed+=("$log") ;;
        *) die "'$log' is none of endpoint, embedded, embedded-interval, embedded-never, kafka, sustained, beside-kafka, stored, cluster, reliability, retry, store, tools, console, clients" ;;
    esac
    stop_all
done
say "results are in $OUT/*.json"
((${#failed[@]} == 0)) || die "not sound: ${failed[*]}"
