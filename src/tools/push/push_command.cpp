#include "app/client_options.hpp"
#include "app/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/push/listen.hpp"
#include "tools/push/push.hpp"

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

/// Of one push message, whose limit the command names if the text is long.
constexpr std::uint64_t kPadding = 4'096;

void add_push_listen(app::CommandLine& line, ListenOptions& o) {
    auto& command = line.add(line.top(), "listen",
                             "Be a user agent: subscribe, then print and acknowledge each message",
                             [&o] { return run_listen(o); });
    command.add_option("URL", o.url, "WebSocket URL of an edge, ws or wss")->capture_default_str();
    app::add_trust(command, o.insecure, o.ca_file);
    command.add_option("--state", o.state_file,
                       "File that keeps the subscription for the next run");
    command.add_option("--vapid", o.vapid,
                       "Only this application server may send: its public key or key file");
    command.add_option("--count", o.count, "Stop after this many messages; 0 means never")
        ->check(app::whole_number());
    command.add_flag_function(
        "--once", [&o](std::int64_t) { o.count = 1; }, "Stop after one message");
    app::add_duration(command, "--timeout", "Stop after this time, with exit code 1 (e.g. 10s)",
                      [&o](auto value) { o.timeout = value; });
    command.add_flag_function(
        "--no-ack", [&o](std::int64_t) { o.acknowledge = false; },
        "Do not acknowledge: messages come again at the next connection");
    command.add_flag("--unsubscribe", o.unsubscribe, "Unregister the channel at the end");
    command.add_flag_function(
        "--no-reconnect", [&o](std::int64_t) { o.reconnect = false; },
        "Stop with exit code 1 when the connection is lost");
    command.add_flag("--json", o.json, "JSON lines instead of text");
}

void add_push(app::CommandLine& line, PushOptions& o) {
    auto& command =
        line.add(line.top(), "push", "Be an application server: encrypt and send one message",
                 [&o] { return run_push(o); });
    command
        .add_option(
            "TARGET", o.target,
            "Subscription as JSON, a file that holds one (`listen --state`), - for standard "
            "input, or an endpoint URL")
        ->required();
    command.add_option("MESSAGE", o.message,
                       "The text; - for standard input; without it the push carries no data");
    command
        .add_option("--ttl", o.ttl_s,
                    "Seconds that the service keeps the message; with 0 it is lost unless the "
                    "client is connected")
        ->check(app::whole_number())
        ->capture_default_str();
    command.add_option("--topic", o.topic,
                       "Replace an earlier message with this Topic that still waits");
    command.add_option("--urgency", o.urgency, "very-low, low, normal or high")
        ->check(CLI::IsMember({"very-low", "low", "normal", "high"}));
    command.add_option("--encoding", o.encoding, "aes128gcm or aesgcm")
        ->capture_default_str()
        ->check(CLI::IsMember({"aes128gcm", "aesgcm"}));
    command
        .add_option("--padding", o.padding_bytes,
                    "Bytes of padding, which hide the length of the text")
        ->check(app::whole_number(kPadding));
    command.add_option("--vapid", o.vapid_file, "Key file; made if it does not exist");
    command.add_option("--vapid-scheme", o.vapid_scheme, "vapid, or webpush (the older one)")
        ->capture_default_str()
        ->check(CLI::IsMember({"vapid", "webpush"}));
    command
        .add_option("--subject", o.subject, "Where the operator of the service may write to you")
        ->capture_default_str();
    app::add_trust(command, o.insecure, o.ca_file);
    app::add_duration(command, "--timeout", "Time limit of the whole request (e.g. 30s)",
                      [&o](auto value) { o.timeout = value; });
    command.add_flag("--delete", o.remove,
                     "TARGET is a message URL (the Location of a 201): delete that message");
    command.add_flag("--json", o.json, "One JSON object instead of text");
}

}  // namespace

void add_push_commands(app::CommandLine& line) {
    // CLI11 keeps references to the values that it fills: these live as long as the process.
    static ListenOptions listen;
    static PushOptions push;
    add_push_listen(line, listen);
    add_push(line, push);
}

}  // namespace beckon::tools
