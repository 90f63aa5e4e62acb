#include "app/client_options.hpp"
#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "core/json_text.hpp"
#include "tools/api/api_command.hpp"
#include "tools/commands.hpp"
#include "tools/webhooks/receiver.hpp"
#include "tools/webhooks/webhooks_tool.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

struct WebhookListenOptions {
    std::uint16_t port = 0;  ///< of 127.0.0.1; 0: any free one
    std::string secret;      ///< empty: a webhook is made for this receiver, and deleted at the end
    std::vector<std::string> types;
    std::size_t count = 0;       ///< stop after so many different deliveries; 0: never
    std::size_t fail_first = 0;  ///< so many requests are answered 500, to see them again
    std::optional<std::chrono::milliseconds> timeout;
};

using Json = nlohmann::ordered_json;

namespace {

/// State of all requests; on the server's one thread, except wait().
class Receiver {
public:
    Receiver(const WebhookListenOptions& options) : options_(options) {}

    int receive(const WebhookReceiver::Received& request) {
        if (!request.distrust.empty()) {
            app::print_line("refused: " + request.distrust);
            return 401;
        }
        const auto& id = request.id;
        if (failed_ < options_.fail_first) {
            ++failed_;
            app::print_line(id + "  verified, answered 500 as asked for");
            return 500;
        }
        const bool again = !seen_.insert(id).second;
        app::print_line(id + (again ? "  again  " : "  verified  ") + body_text(request.body));
        if (!again) note_one();
        return 204;
    }

    void stop() {
        const std::scoped_lock lock{mutex_};
        stopped_ = true;
        over_.notify_all();
    }

    /// False: the time-out came first.
    bool wait() {
        std::unique_lock lock{mutex_};
        const auto done = [this] {
            return stopped_ || (options_.count > 0 && received_ >= options_.count);
        };
        if (!options_.timeout) {
            over_.wait(lock, done);
            return true;
        }
        return over_.wait_for(lock, *options_.timeout, done);
    }

private:
    static std::string body_text(const std::string& body) {
        const auto event = core::parse_ordered_json(body);
        if (!event.is_object()) return body;
        return event.value("type", "") + "  " + core::json_text(event.value("data", Json{}));
    }
    void note_one() {
        const std::scoped_lock lock{mutex_};
        ++received_;
        over_.notify_all();
    }

    const WebhookListenOptions& options_;
    std::set<std::string> seen_;
    std::size_t failed_ = 0;

    std::mutex mutex_;
    std::condition_variable over_;
    std::size_t received_ = 0;  ///< under mutex_
    bool stopped_ = false;      ///< under mutex_
};

}  // namespace

namespace {

/// A receiver of webhooks that checks the signature (Standard Webhooks) and prints each event. Exit
/// code 0; 1 if the time-out came first.
int run_webhook_listen(const app::Config& config, const ApiAccess& access,
                       const WebhookListenOptions& options) {
    Receiver receiver{options};
    const app::StopSignals signals{[&receiver] { receiver.stop(); }};
    WebhookReceiver server{options.port, [&receiver](const WebhookReceiver::Received& request) {
                               return receiver.receive(request);
                           }};
    std::unique_ptr<client::ApiClient> api;
    std::optional<OwnWebhook> webhook;
    if (options.secret.empty()) {
        api = open_api(config, access);
        webhook.emplace(*api, CreateWebhook{.url = server.url(), .types = options.types});
    }
    server.start(webhook ? webhook->secret() : options.secret);
    app::print_line("listening at " + server.url());
    const bool in_time = receiver.wait();
    webhook.reset();  // before the port is closed: nothing more comes
    if (!in_time) app::print_error("beckon: the time-out came first");
    return in_time ? signals.exit_code() : 1;
}

/// The options' values; they live as long as the process, since CLI11 keeps references.
struct Options {
    ApiAccess access;
    ApiAccess sender;  ///< of `events send`
    CreateWebhook create;
    WebhookListenOptions listen;
    SendEvent event;
    std::string id;
    std::string change;
    std::string owner;
    bool publishes_to_all = false;
};

CLI::App& add_for_one(app::CommandLine& line, CLI::App& parent, const char* name, const char* help,
                      Options& o, const std::function<int(client::ApiClient&)>& run) {
    auto& command = add_api_command(line, parent, {name, help}, o.access, run);
    command.add_option("ID", o.id, "Of the webhook")->check(app::not_empty())->required();
    return command;
}

void add_create(app::CommandLine& line, CLI::App& group, Options& o) {
    auto& command = add_api_command(
        line, group, {"create", "Make a webhook; prints it and its secret"}, o.access,
        [&o](client::ApiClient& api) { return create_webhook(api, o.create); });
    command.add_option("RECEIVER", o.create.url, "URL to which events are sent, http or https")
        ->required();
    command.add_option("--type", o.create.types,
                       "Type of events: order.created, or a prefix, order.*; may be repeated; by "
                       "default every type");
    command.add_option("--filter", o.create.filter, "JSON (docs/webhooks.md#filters), or @FILE");
    command.add_option(
        "--attach", o.create.attachments,
        "NAME=EXPRESSION (docs/webhooks.md#attachments), sent beside the event; may be repeated");
    command.add_option(
        "--header", o.create.headers,
        "'NAME: VALUE' (docs/webhooks.md#headers-of-your-own), sent with each request, or @FILE "
        "with one in each line; may be repeated");
    command.add_option("--secret", o.create.secret, "whsec_…; by default a new one is made");
    command.add_option("--description", o.create.description, "For people");
    command
        .add_option("--mode", o.create.mode,
                    "structured: the event is the body; binary: its data are the body, its "
                    "attributes are headers")
        ->check(CLI::IsMember({"structured", "binary"}));
    command.add_flag("--ordered", o.create.ordered, "One request at a time, in order");
    command.add_option("--timeout-s", o.create.timeout_s, "Seconds for an answer, 1 to 60")
        ->check(app::whole_number(60, 1));
}

void add_listen(app::CommandLine& line, CLI::App& group, Options& o) {
    auto& command = line.add_configured(
        group, "listen", "Be a receiver: check each signature and print the event",
        app::Reader::webhooks, [&o](const app::Config& config, const app::Sources&) {
            return run_webhook_listen(config, o.access, o.listen);
        });
    add_api_access(command, o.access);
    command.add_option("PORT", o.listen.port, "Port of 127.0.0.1; by default any free one")
        ->check(app::whole_number(65'535));
    command.add_option("--secret", o.listen.secret,
                       "Secret of an existing webhook; by default a webhook is made for this "
                       "receiver, and deleted at the end");
    command.add_option("--type", o.listen.types,
                       "Types of the webhook that is made; may be repeated");
    command.add_option("--count", o.listen.count, "Stop after so many events; 0: never")
        ->check(app::whole_number());
    command
        .add_option("--fail-first", o.listen.fail_first,
                    "Answer 500 to so many requests, which then come again")
        ->check(app::whole_number());
    app::add_duration(command, "--timeout", "Stop after this time, with exit code 1 (e.g. 10s)",
                      [&o](auto value) { o.listen.timeout = value; });
}

void add_webhooks(app::CommandLine& line, Options& o) {
    auto& group =
        line.add_group("webhooks", "Make and manage webhooks, which get events as HTTP requests");
    add_create(line, group, o);
    auto& list = add_api_command(
        line, group, {"list", "One line for each webhook of one owner; exit code 3: it has none"},
        o.access, [&o](client::ApiClient& api) { return list_webhooks(api, o.access.all_owners); });
    add_all_owners(list, o.access, "Webhooks of every owner, as an operator with the key ring");
    add_for_one(line, group, "show", "Show a webhook without its secret", o,
                [&o](client::ApiClient& api) { return show_webhook(api, o.id); });
    add_for_one(line, group, "change", "Change the fields that a JSON object names", o,
                [&o](client::ApiClient& api) { return change_webhook(api, o.id, o.change); })
        .add_option("JSON", o.change, "For example '{\"types\": [\"order.*\"]}'")
        ->required();
    for (const auto& [name, help] :
         {std::pair{"enable", "Enable a webhook again"},
          std::pair{"disable",
                    "Disable a webhook: new events are not kept for it and cannot be redriven; "
                    "deliveries that "
                    "already wait become dead letters"},
          std::pair{"test", "Send a webhook an event of type beckon.webhook.test"}}) {
        add_for_one(line, group, name, help, o,
                    [&o, action = std::string{name}](client::ApiClient& api) {
                        return act_on_webhook(api, o.id, action);
                    });
    }
    add_for_one(line, group, "rotate",
                "Make a new secret; until the next rotation the former one signs too", o,
                [&o](client::ApiClient& api) { return act_on_webhook(api, o.id, "secret"); });
    add_for_one(line, group, "attempts", "Show the last attempts at a webhook, the newest first", o,
                [&o](client::ApiClient& api) { return show_attempts(api, o.id); });
    add_for_one(line, group, "delete", "Delete a webhook; its waiting deliveries are dropped", o,
                [&o](client::ApiClient& api) { return delete_webhook(api, o.id); });
    add_webhook_redrive(line, group);
    add_listen(line, group, o);
    auto& token = line.add_configured(
        group, "token", "Print the token of an owner, made with the key ring",
        app::Reader::webhooks, [&o](const app::Config& config, const app::Sources&) {
            return print_token(config, o.owner, o.publishes_to_all);
        });
    token.add_option("OWNER", o.owner, "Lower-case letters, digits, - and _")->required();
    token.add_flag("--publish-to-all", o.publishes_to_all,
                   "Its events reach the webhooks of every owner, not only its own");
}

void add_events(app::CommandLine& line, Options& o) {
    auto& group = line.add_group("events", "Post the events that webhooks get");
    auto& send = line.add_configured(
        group, "send", "Post one event, which reaches the owner's own webhooks",
        app::Reader::webhooks, [&o](const app::Config& config, const app::Sources&) {
            return send_event(*open_api(config, sender_of(o.sender, o.event)), o.event);
        });
    add_api_access(send, o.sender);
    send.add_flag("--publish-to-all", o.sender.publishes_to_all,
                  "It reaches the webhooks of every owner, not only the owner's own")
        ->excludes("--token");
    send.add_option("TYPE", o.event.type, "For example order.created")->required();
    send.add_option("DATA", o.event.data, "JSON; other data are sent as text");
    send.add_option("--source", o.event.source, "The source of the event")->capture_default_str();
    send.add_option("--id", o.event.id,
                    "Id of the event; a second event with this source and id changes nothing");
    send.add_option("--subject", o.event.subject, "The subject of the event");
    send.add_option("--partition-key", o.event.partition_key,
                    "Ordered webhooks get events with the same key in the order in which they "
                    "were posted");
    send.add_option("--for-owner", o.event.for_owner,
                    "Only webhooks of this owner get it, whoever posts it");
    app::add_duration(
        send, "--wait",
        "Wait up to 24s for the first attempts at the owner's webhooks, and print them",
        [&o](auto value) { o.event.wait = std::chrono::ceil<std::chrono::seconds>(value); });
}

}  // namespace

void add_webhooks_commands(app::CommandLine& line) {
    static Options options;
    add_webhooks(line, options);
    add_events(line, options);
}

}  // namespace beckon::tools
