#include "cli/bench/bench_command.hpp"

#include "cli/bench/bench.hpp"

#include <CLI/CLI.hpp>

namespace beckon::cli {

void add_bench_command(CLI::App& app, std::function<int()>& chosen) {
    static BenchOptions o;  // CLI11 keeps references to what it fills

    auto& command = *app.add_subcommand("bench", "Measure any server that speaks the protocol");
    command.add_option("URL", o.url, "WebSocket URL of an edge, ws or wss")->capture_default_str();
    command.add_option("--endpoint", o.endpoint,
                       "host:port that POSTs go to, whatever the endpoint URLs say");
    command.add_option("--profiles", o.profiles, "latency, saturation, idle, drain")
        ->delimiter(',')
        ->check(CLI::IsMember({"latency", "saturation", "idle", "drain"}));
    command.add_option("--connections", o.connections, "Clients with a channel each")
        ->capture_default_str();
    command.add_option("--rate", o.rate, "Messages/s of the latency profile")
        ->capture_default_str();
    command
        .add_option("--duration", o.duration_s, "Seconds of the latency and saturation profiles")
        ->capture_default_str();
    command.add_option("--warm-up", o.warm_up_s, "Seconds before each, not counted")
        ->capture_default_str();
    command.add_option("--body", o.body_bytes, "Bytes of the encrypted body")
        ->capture_default_str();
    command.add_option("--ttl", o.ttl_s, "Seconds")->capture_default_str();
    command.add_option("--senders", o.senders, "HTTP connections")->capture_default_str();
    command.add_option("--pipeline", o.pipeline, "POSTs in flight on each when saturating")
        ->capture_default_str();
    command.add_option("--vapid", o.vapid, "none, sign or restrict")
        ->capture_default_str()
        ->check(CLI::IsMember({"none", "sign", "restrict"}));
    command.add_option("--idle-connections", o.idle_connections, "Clients of the idle profile")
        ->capture_default_str();
    command.add_flag("--idle-register", o.idle_register, "They also register a channel each");
    command.add_option("--drain-messages", o.drain_messages, "Messages of the drain profile")
        ->capture_default_str();
    command.add_option("--pid", o.pids, "A process to account for, name=pid; may be repeated");
    command.add_option("--label", o.label, "Goes into the JSON");
    command.add_option("--json-file", o.json_file, "Where the JSON goes");
    command.add_flag("--json", o.json, "JSON on standard output instead of the table");
    command.callback([&chosen] { chosen = [] { return run_bench(o); }; });
}

}  // namespace beckon::cli
