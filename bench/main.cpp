#include "bench/bench.hpp"

#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

namespace {

void add_options(CLI::App& command, beckon::bench::BenchOptions& o) {
    command.add_option("URL", o.url, "WebSocket URL of an edge, ws or wss")->capture_default_str();
    command.add_option("--reconnect-to", o.reconnect_to,
                       "Clients connect to this WebSocket URL once they have a channel: at another "
                       "edge than their home each message goes over a link");
    command.add_option("--endpoint", o.endpoint,
                       "Send POSTs to this host:port instead of the one that endpoint URLs name");
    command
        .add_option("--profiles", o.profiles,
                    "latency, saturation, idle, drain, sustained (the highest rate that the "
                    "server keeps up with; only if it is named), fill (messages for clients that "
                    "are away; only if it is named)")
        ->delimiter(',')
        ->check(CLI::IsMember({"latency", "saturation", "idle", "drain", "sustained", "fill"}));
    command.add_option("--connections", o.connections, "Clients with a channel each")
        ->capture_default_str();
    command
        .add_option("--rate", o.rate,
                    "Messages/s of the latency profile; the first that the sustained profile tries")
        ->capture_default_str();
    command.add_option("--rate-max", o.rate_max, "The sustained profile tries no higher rate")
        ->capture_default_str();
    command
        .add_option("--p99", o.p99_ms,
                    "A rate is sustained if 99 in 100 messages take at most so many milliseconds "
                    "from the POST to the frame")
        ->capture_default_str();
    command
        .add_option("--duration", o.duration_s,
                    "Seconds of the latency and saturation profiles, and of each rate that the "
                    "sustained profile tries")
        ->capture_default_str();
    command
        .add_option("--warm-up", o.warm_up_s,
                    "Seconds of traffic before each of them that are not counted")
        ->capture_default_str();
    command.add_option("--body", o.body_bytes, "Bytes of the encrypted body")
        ->capture_default_str();
    command.add_option("--ttl", o.ttl_s, "Seconds")->capture_default_str();
    command
        .add_option("--senders", o.senders,
                    "HTTP connections; at a rate each waits for its answer before it sends again")
        ->capture_default_str();
    command.add_option("--pipeline", o.pipeline, "POSTs in flight on each when saturating")
        ->capture_default_str();
    command
        .add_option("--ahead", o.ahead,
                    "Saturating runs at most so many messages for each client ahead of delivery; "
                    "0: as far as the server accepts them")
        ->capture_default_str();
    command.add_option("--vapid", o.vapid, "none, sign or restrict")
        ->capture_default_str()
        ->check(CLI::IsMember({"none", "sign", "restrict"}));
    command.add_option("--vapid-key", o.vapid_key_file,
                       "Sign with the key of this file (`beckon keys vapid`), not with a new one");
    command.add_option("--fill-messages", o.fill_messages, "Messages of the fill profile")
        ->capture_default_str();
    command.add_option("--idle-connections", o.idle_connections, "Clients of the idle profile")
        ->capture_default_str();
    command.add_flag("--idle-register", o.idle_register,
                     "Let each client of the idle profile register a channel");
    command.add_option("--drain-messages", o.drain_messages, "Messages of the drain profile")
        ->capture_default_str();
    command
        .add_option("--drain-clients", o.drain_clients,
                    "Clients that come back at once, to so many messages each")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command.add_option(
        "--pid", o.pids,
        "Also measure the CPU and memory of this process, name=pid; may be repeated");
    command.add_option("--label", o.label, "Name of this run in the JSON");
    command.add_option("--json-file", o.json_file, "Write the JSON to this file");
    command.add_flag("--json", o.json, "JSON on standard output instead of the table");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        CLI::App app{"Measures a push server: latency, throughput, memory of idle clients.",
                     "beckon-bench"};
        beckon::bench::BenchOptions options;
        add_options(app, options);
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& error) {
            return app.exit(error) == 0 ? beckon::bench::kDone : beckon::bench::kWrongOptions;
        }
        return beckon::bench::run_bench(options);
    } catch (const std::exception& error) {
        std::cerr << "beckon-bench: " << error.what() << "\n";
        return beckon::bench::kFailed;
    }
}
