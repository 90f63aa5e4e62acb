#include "cli/push/push_command.hpp"

#include "cli/config/setting.hpp"
#include "cli/push/demo.hpp"
#include "cli/push/listen.hpp"
#include "cli/push/push.hpp"

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
    command.add_flag("--insecure", insecure, "Take any TLS certificate");
    command.add_option("--ca-file", ca_file, "PEM certificates to trust")->check(CLI::ExistingFile);
}

void add_listen(CLI::App& app, std::function<int()>& chosen, ListenOptions& o) {
    auto& command =
        *app.add_subcommand("listen", "Be a user agent: subscribe, print, decrypt, acknowledge");
    command.add_option("URL", o.url, "WebSocket URL of an edge, ws or wss")->capture_default_str();
    add_trust(command, o.insecure, o.ca_file);
    command.add_option("--state", o.state_file,
                       "File that keeps the subscription for the next run");
    command.add_option("--vapid", o.vapid,
                       "Only this application server may send: its public key or key file");
    command.add_option("--count", o.count, "Stop after so many messages; 0: never");
    command.add_flag_function(
        "--once", [&o](std::int64_t) { o.count = 1; }, "Stop after one message");
    add_duration(command, "--timeout", o.timeout, "Stop after this, with exit code 1 (e.g. 10s)");
    command.add_flag_function(
        "--no-ack", [&o](std::int64_t) { o.acknowledge = false; },
        "Do not acknowledge: messages come again at the next connection");
    command.add_flag("--unsubscribe", o.unsubscribe, "Unregister the channel at the end");
    command.add_flag_function(
        "--no-reconnect", [&o](std::int64_t) { o.reconnect = false; },
        "A lost connection ends it, with exit code 1");
    command.add_flag("--json", o.json, "JSON lines instead of text");
    command.callback([&chosen, &o] { chosen = [&o] { return run_listen(o); }; });
}

void add_push(CLI::App& app, std::function<int()>& chosen, PushOptions& o) {
    auto& command =
        *app.add_subcommand("push", "Be an application server: encrypt and send one message");
    command
        .add_option(
            "TARGET", o.target,
            "Subscription as JSON, a file that holds one (`listen --state`), - for standard "
            "input, or an endpoint URL")
        ->required();
    command.add_option("MESSAGE", o.message,
                       "The text; - for standard input; none: a push without data");
    command.add_option("--ttl", o.ttl_s, "Seconds that the service keeps it; 0: online or lost")
        ->capture_default_str();
    command.add_option("--topic", o.topic, "Replaces an earlier message of this Topic");
    command.add_option("--urgency", o.urgency, "very-low, low, normal or high")
        ->check(CLI::IsMember({"very-low", "low", "normal", "high"}));
    command.add_option("--encoding", o.encoding, "aes128gcm or aesgcm")
        ->capture_default_str()
        ->check(CLI::IsMember({"aes128gcm", "aesgcm"}));
    command.add_option("--padding", o.padding_bytes, "Bytes that hide the length of the text");
    command.add_option("--vapid", o.vapid_file, "Key file; made if it does not exist");
    command.add_option("--vapid-scheme", o.vapid_scheme, "vapid, or webpush (the older one)")
        ->capture_default_str()
        ->check(CLI::IsMember({"vapid", "webpush"}));
    command.add_option("--subject", o.subject, "Whom the operator may write to")
        ->capture_default_str();
    add_trust(command, o.insecure, o.ca_file);
    add_duration(command, "--timeout", o.timeout, "For the whole request (e.g. 30s)");
    command.add_flag("--delete", o.remove,
                     "TARGET is a message URL (the Location of a 201): take it back");
    command.add_flag("--json", o.json, "One JSON object instead of text");
    command.callback([&chosen, &o] { chosen = [&o] { return run_push(o); }; });
}

void add_demo(CLI::App& app, std::function<int()>& chosen, DemoOptions& o) {
    auto& command = *app.add_subcommand("demo", "Both ends against a running server, step by step");
    command.add_option("URL", o.url, "WebSocket URL of an edge, ws or wss")->capture_default_str();
    add_trust(command, o.insecure, o.ca_file);
    command.add_option("--text", o.text, "What is sent")->capture_default_str();
    command.add_flag_function(
        "--no-vapid", [&o](std::int64_t) { o.vapid = false; },
        "Do not sign, and do not bind the subscription to a key");
    add_duration(command, "--timeout", o.timeout, "For each step (e.g. 15s)");
    command.add_flag("--json", o.json, "One JSON object at the end");
    command.callback([&chosen, &o] { chosen = [&o] { return run_demo(o); }; });
}

}  // namespace

void add_push_commands(CLI::App& app, std::function<int()>& chosen) {
    // CLI11 keeps references to what it fills: these live as long as the process.
    static ListenOptions listen;
    static PushOptions push;
    static DemoOptions demo;
    add_listen(app, chosen, listen);
    add_push(app, chosen, push);
    add_demo(app, chosen, demo);
}

}  // namespace beckon::cli
