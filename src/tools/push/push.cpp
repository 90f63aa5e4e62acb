#include "tools/push/push.hpp"

#include "app/client_options.hpp"
#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "client/application_server.hpp"
#include "client/private_file.hpp"
#include "client/user_agent.hpp"
#include "core/json_text.hpp"
#include "tools/commands.hpp"
#include "tools/push/listen.hpp"

#include <array>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <variant>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

using core::Fault;
using core::Result;

std::string standard_input() {
    return {std::istreambuf_iterator<char>{std::cin}, std::istreambuf_iterator<char>{}};
}

/// A subscription, or an endpoint URL without keys.
using Target = std::variant<client::Subscription, std::string>;

Result<Target> read_target(const std::string& option) {
    if (option.starts_with("http://") || option.starts_with("https://")) {
        if (const auto url = client::parse_url(option); !url) return core::fail(url.error());
        return Target{option};
    }
    std::string text = option;
    if (option == "-") {
        text = standard_input();
    } else if (!option.starts_with('{')) {
        auto file = client::read_text_file(option);
        if (!file) {
            return core::fail(Fault::invalid,
                              "the target must be a subscription's JSON, a file that holds it, - "
                              "for standard input, or an endpoint URL: " +
                                  file.error().message);
        }
        text = std::move(*file);
    }
    auto state = client::subscription_in_state(text);
    auto subscription = state ? std::move(*state) : client::parse_subscription(text);
    if (!subscription) return core::fail(subscription.error());
    return Target{std::move(*subscription)};
}

Result<client::ApplicationServerOptions> sender_options(const PushOptions& options) {
    client::ApplicationServerOptions out;
    out.scheme = options.vapid_scheme == "webpush" ? client::VapidScheme::webpush
                                                   : client::VapidScheme::vapid;
    out.subject = options.subject;
    out.tls = {options.insecure, options.ca_file.value_or("")};
    out.timeout = options.timeout;
    if (options.vapid_file) {
        auto key = client::load_vapid_key(*options.vapid_file, client::IfMissing::create);
        if (!key) return core::fail(key.error());
        out.vapid = std::move(*key);
    }
    return out;
}

client::PushMessage message_of(const PushOptions& options) {
    client::PushMessage message;
    message.text = options.message == "-" ? standard_input() : options.message;
    message.ttl_s = options.ttl_s;
    message.topic = options.topic;
    message.urgency = options.urgency;
    message.encoding = client::parse_encoding(options.encoding).value();
    message.padding_bytes = options.padding_bytes;
    return message;
}

void show_reply(const PushOptions& options, const client::PushReply& reply,
                const std::string& location) {
    const double ms = std::chrono::duration<double, std::milli>{reply.took}.count();
    if (options.json) {
        nlohmann::json line{{"status", reply.status},
                            {"ms", ms},
                            {"location", location},
                            {"headers", reply.headers},
                            {"explanation", client::explain(reply)}};
        if (reply.error) {
            line["error"] = {{"errno", reply.error->number ? nlohmann::json(*reply.error->number)
                                                           : nlohmann::json{}},
                             {"message", reply.error->message}};
        }
        app::print_line(core::json_text(line));
        return;
    }
    std::array<char, 32> took{};
    std::snprintf(took.data(), took.size(), "%.1f ms, ", ms);
    app::print_line(took.data() + client::explain(reply));
    if (!location.empty()) app::print_line("message  " + location);
    if (const auto ttl = reply.header("ttl"); !ttl.empty())
        app::print_line("ttl      " + ttl + " s");
}

int wrong(const core::Error& error) {
    app::print_error(error.message);
    return app::kWrongOptions;
}

int report(const PushOptions& options, const std::string& endpoint,
           const Result<client::PushReply>& reply) {
    if (!reply) {
        app::print_error(app::with_remedy(reply.error()));
        const auto fault = reply.error().fault;
        return fault == Fault::invalid || fault == Fault::too_large ? app::kWrongOptions
                                                                    : app::kFailed;
    }
    const auto location = client::message_url(endpoint, *reply);
    show_reply(options, *reply, location ? *location : "");
    return reply->accepted() ? app::kDone : app::kFailed;
}

}  // namespace

int run_push(const PushOptions& options) {
    if (options.message == "-" && options.target == "-") {
        return wrong({Fault::invalid, "only one of target and message can be standard input"});
    }
    const auto sender = sender_options(options);
    if (!sender) return wrong(sender.error());
    client::ApplicationServer server{*sender};
    if (options.remove) return report(options, options.target, server.remove(options.target));
    const auto target = read_target(options.target);
    if (!target) return wrong(target.error());
    const auto message = message_of(options);
    if (const auto* url = std::get_if<std::string>(&*target)) {
        return report(options, *url, server.send(*url, message));
    }
    const auto& subscription = std::get<client::Subscription>(*target);
    return report(options, subscription.endpoint, server.send(subscription, message));
}

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
    app::add_number(command, "--count", o.count, "Stop after this many messages; 0 means never");
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
    app::add_number(command, "--ttl", o.ttl_s,
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
    app::add_number(command, "--padding", o.padding_bytes,
                    "Bytes of padding, which hide the length of the text", kPadding);
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
