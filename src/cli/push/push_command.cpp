#include "cli/push/push_command.hpp"

#include "cli/command_line.hpp"
#include "cli/config/setting.hpp"
#include "cli/push/demo.hpp"
#include "cli/push/listen.hpp"
#include "cli/push/push.hpp"
#include "cli/roles/demo_server.hpp"

#include <string>

#include <CLI/CLI.hpp>

namespace beckon::cli {

namespace {

/// A duration option in the notation of the configuration ("5s").
template <class Target>
CLI::Option* add_duration(CLI::App& command, const char* name, Target& target, const char* help) {
    return command.add_option_function<std::string>(
        name,
        [&target, name](const std::string& text) {
            const auto value = parse_duration(text);
            if (!value)
                throw CLI::ValidationError(name, "'" + text + "': " + value.error().message);
            target = *value;
        },
        help);
}

void add_trust(CLI::App& command, bool& insecure, std::optional<std::filesystem::path>& ca_file) {
    command.add_flag("--insecure", insecure, "Accept any TLS certificate of the server");
    command.add_option("--ca-file", ca_file, "PEM file of certificates to trust")
        ->check(CLI::ExistingFile);
}

void add_listen(CommandLine& line, ListenOptions& o) {
    auto& command = line.add(line.top(), "listen",
                             "Be a user agent: subscribe, then print and acknowledge each message",
                             [&o] { return run_listen(o); });
    command.add_option("URL", o.url, "WebSocket URL of an edge, ws or wss")->capture_default_str();
    add_trust(command, o.insecure, o.ca_file);
    command.add_option("--state", o.state_file,
                       "File that keeps the subscription for the next run");
    command.add_option("--vapid", o.vapid,
                       "Only this application server may send: its public key or key file");
    command.add_option("--count", o.count, "Stop after this many messages; 0 means never");
    command.add_flag_function(
        "--once", [&o](std::int64_t) { o.count = 1; }, "Stop after one message");
    add_duration(command, "--timeout", o.timeout,
                 "Stop after this time, with exit code 1 (e.g. 10s)");
    command.add_flag_function(
        "--no-ack", [&o](std::int64_t) { o.acknowledge = false; },
        "Do not acknowledge: messages come again at the next connection");
    command.add_flag("--unsubscribe", o.unsubscribe, "Unregister the channel at the end");
    command.add_flag_function(
        "--no-reconnect", [&o](std::int64_t) { o.reconnect = false; },
        "Stop with exit code 1 when the connection is lost");
    command.add_flag("--json", o.json, "JSON lines instead of text");
}

void add_push(CommandLine& line, PushOptions& o) {
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
        ->capture_default_str();
    command.add_option("--topic", o.topic,
                       "Replace an earlier message with this Topic that still waits");
    command.add_option("--urgency", o.urgency, "very-low, low, normal or high")
        ->check(CLI::IsMember({"very-low", "low", "normal", "high"}));
    command.add_option("--encoding", o.encoding, "aes128gcm or aesgcm")
        ->capture_default_str()
        ->check(CLI::IsMember({"aes128gcm", "aesgcm"}));
    command.add_option("--padding", o.padding_bytes,
                       "Bytes of padding, which hide the length of the text");
    command.add_option("--vapid", o.vapid_file, "Key file; made if it does not exist");
    command.add_option("--vapid-scheme", o.vapid_scheme, "vapid, or webpush (the older one)")
        ->capture_default_str()
        ->check(CLI::IsMember({"vapid", "webpush"}));
    command
        .add_option("--subject", o.subject, "Where the operator of the service may write to you")
        ->capture_default_str();
    add_trust(command, o.insecure, o.ca_file);
    add_duration(command, "--timeout", o.timeout, "Time limit of the whole request (e.g. 30s)");
    command.add_flag("--delete", o.remove,
                     "TARGET is a message URL (the Location of a 201): delete that message");
    command.add_flag("--json", o.json, "One JSON object instead of text");
}

void add_demo(CommandLine& line, DemoOptions& o) {
    static const CLI::Option* url = nullptr;
    auto& command = line.add_configured(
        line.top(), "demo", "Show one push travelling through a server, step by step",
        Reader::webhooks, [&o](const Config& config, const Sources&) {
            if (o.webhooks) return run_webhook_demo_anywhere(config, o);
            return url->count() ? run_demo(o) : run_demo_anywhere(o);
        });
    url = command
              .add_option("URL", o.url,
                          "WebSocket URL of an edge, ws or wss; without it, a server is started "
                          "for the demo if none is at the default address")
              ->capture_default_str();
    add_trust(command, o.insecure, o.ca_file);
    command.add_flag("--webhooks", o.webhooks,
                     "Show an event travelling to a webhook instead, at the API for webhooks");
    command.add_option("--text", o.text, "Text of the message")->capture_default_str();
    command.add_flag_function(
        "--no-vapid", [&o](std::int64_t) { o.vapid = false; },
        "Do not sign, and do not bind the subscription to a key");
    add_duration(command, "--timeout", o.timeout, "Time limit of each step (e.g. 15s)");
    command.add_flag("--json", o.json, "One JSON object at the end");
}

}  // namespace

void add_push_commands(CommandLine& line) {
    // CLI11 keeps references to what it fills: these live as long as the process.
    static ListenOptions listen;
    static PushOptions push;
    static DemoOptions demo;
    add_listen(line, listen);
    add_push(line, push);
    add_demo(line, demo);
}

}  // namespace beckon::cli
