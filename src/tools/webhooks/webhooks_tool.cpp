#include "tools/webhooks/webhooks_tool.hpp"

#include "app/client_options.hpp"
#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "client/private_file.hpp"
#include "core/ascii.hpp"
#include "core/ids.hpp"
#include "core/json_depth.hpp"
#include "core/json_member.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/percent.hpp"
#include "tools/api/api_command.hpp"
#include "tools/commands.hpp"
#include "tools/webhooks/receiver.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

using Json = nlohmann::ordered_json;

namespace {

/// As many as the API takes.
constexpr std::size_t kFilterDepthMax = 64;
/// As many webhooks as the API lists in one page.
constexpr std::size_t kPageMax = 250;

/// `text`, or the content of the file that it names (@FILE).
std::string read_text(const std::string& text) {
    return text.starts_with('@') ? app::must(client::read_text_file(text.substr(1))) : text;
}

std::string usage_line(const Json& usage) {
    const auto number = [&](const char* name) {
        return std::to_string(usage.value(name, std::uint64_t{0}));
    };
    return "used of this process: " + number("attempts") + " attempts (" + number("delivered") +
           " delivered), " + number("attempt_ms") + " ms, " + number("sent_bytes") + " bytes; " +
           number("under_way") + " under way, " + number("waiting") + " waiting, " +
           number("requeued") + " requeued for a full share";
}

Json attachments_of(const std::vector<std::string>& texts) {
    Json all = Json::object();
    for (const auto& text : texts) {
        const auto equals = text.find('=');
        if (equals == std::string::npos) {
            throw app::StartupError("--attach '" + text + "': NAME=EXPRESSION is expected");
        }
        all[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return all;
}

/// Adds `text`, one header. The message names no value: it may be a secret.
void add_header(Json& headers, std::string_view text) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) {
        throw app::StartupError("--header: 'NAME: VALUE' is expected, or @FILE with one in a line");
    }
    const std::string name{core::trimmed(text.substr(0, colon))};
    if (headers.contains(name)) throw app::StartupError("--header: '" + name + "' stands twice");
    headers[name] = core::trimmed(text.substr(colon + 1));
}

Json headers_of(const std::vector<std::string>& texts) {
    Json all = Json::object();
    for (const auto& text : texts) {
        std::istringstream lines{read_text(text)};
        for (std::string line; std::getline(lines, line);) {
            if (line.ends_with('\r')) line.pop_back();
            if (!core::trimmed(line).empty()) add_header(all, line);
        }
    }
    return all;
}

std::string quoted(const std::string& answer) { return core::json_text(Json(answer)); }

std::string types_text(const Json& types) {
    if (types.empty()) return "(every type)";
    return core::joined(types, " ", [](const Json& type) { return type.get<std::string>(); });
}

void print_webhook(const Json& webhook, bool all_owners) {
    const bool enabled = webhook.value("enabled", true);
    const auto owner = all_owners ? core::text_member(webhook, "owner") + "  " : std::string{};
    app::print_line(
        core::text_member(webhook, "id") + "  " + owner +
        (enabled ? "enabled " : "disabled (" + core::text_member(webhook, "reason") + ") ") +
        core::text_member(webhook, "url") + "  " +
        types_text(webhook.value("types", Json::array())));
}

std::string path_of(const std::string& id, const std::string& below = {}) {
    return "/webhooks/" + core::percent_encoded(id) + below;
}

int list_webhooks(client::ApiClient& api, bool all_owners) {
    bool any = false;
    std::string after;
    for (;;) {
        const auto tail = after.empty() ? "" : "&after=" + core::percent_encoded(after);
        const auto answer = api.ask({.path = "/webhooks?limit=" + std::to_string(kPageMax) + tail});
        if (!answer || !answer->good()) return refused(answer);
        const auto page = parsed(*answer);
        for (const auto& webhook : page.value("webhooks", Json::array())) {
            print_webhook(webhook, all_owners);
            any = true;
        }
        after = core::text_member(page, "next");
        if (!after.empty()) continue;
        if (page.contains("usage")) app::print_line(usage_line(page["usage"]));
        return any ? app::kDone : app::kNothingFound;
    }
}

int show_attempts(client::ApiClient& api, const std::string& id) {
    const auto answer = api.ask({.path = path_of(id, "/attempts")});
    if (!answer || !answer->good()) return refused(answer);
    const auto page = parsed(*answer);
    for (const auto& one : page.value("attempts", Json::array())) {
        const auto status = one.value("status", 0);
        app::print_line(core::text_member(one, "at") + "  " + core::text_member(one, "delivery") +
                        "  attempt " + std::to_string(one.value("number", 0) + 1) + "  " +
                        core::text_member(one, "outcome") +
                        (status == 0 ? "" : " " + std::to_string(status)) + "  " +
                        std::to_string(one.value("took_ms", 0)) + " ms  " +
                        core::text_member(one, "why"));
        if (const auto received = core::text_member(one, "answer"); !received.empty()) {
            app::print_line("    it answered " + quoted(received));
        }
    }
    return 0;
}

int send_event(client::ApiClient& api, const SendEvent& event) {
    Json body{{"specversion", "1.0"},
              {"id", event.id.empty() ? core::to_hex(core::random_uuid4()) : event.id},
              {"source", event.source},
              {"type", event.type}};
    if (!event.subject.empty()) body["subject"] = event.subject;
    if (!event.partition_key.empty()) body["partitionkey"] = event.partition_key;
    if (!event.for_owner.empty()) body["beckonowner"] = event.for_owner;
    auto text = core::json_text(body);
    if (!event.data.empty()) {
        const auto data = core::json_value(event.data);  // as it was written
        const auto as_string = [&] { return core::json_text(Json(event.data)); };
        text = core::with_json_member(text, "data", data ? std::string{*data} : as_string());
    }
    const auto wait = std::to_string(event.wait.count());
    return print_answer(api.ask(
        {.method = "POST",
         .path = event.wait > event.wait.zero() ? "/events?wait=" + wait : std::string{"/events"},
         .body = std::move(text),
         .content_type = "application/cloudevents+json"}));
}

struct WebhookListenOptions {
    std::uint16_t port = 0;  ///< of 127.0.0.1; 0: any free one
    std::string secret;      ///< empty: a webhook is made for this receiver, and deleted at the end
    std::vector<std::string> types;
    std::size_t count = 0;       ///< stop after so many different deliveries; 0: never
    std::size_t fail_first = 0;  ///< so many requests are answered 500, to see them again
    std::optional<std::chrono::milliseconds> timeout;
};

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

std::string body_of(const CreateWebhook& wanted) {
    Json body{{"url", wanted.url}};
    if (!wanted.types.empty()) body["types"] = wanted.types;
    if (!wanted.filter.empty()) {
        const auto text = read_text(wanted.filter);
        if (core::is_nested_deeper(text, kFilterDepthMax)) {
            throw app::StartupError("--filter is nested too deeply: 64 levels are allowed");
        }
        auto filter = core::parse_ordered_json(text);
        if (filter.is_discarded()) throw app::StartupError("--filter is no JSON");
        body["filter"] = std::move(filter);
    }
    if (!wanted.attachments.empty()) body["attachments"] = attachments_of(wanted.attachments);
    if (!wanted.headers.empty()) body["headers"] = headers_of(wanted.headers);
    if (!wanted.secret.empty()) body["secret"] = wanted.secret;
    if (!wanted.description.empty()) body["description"] = wanted.description;
    if (!wanted.mode.empty()) body["mode"] = wanted.mode;
    if (wanted.ordered) body["ordered"] = true;
    if (wanted.timeout_s) body["timeout_s"] = *wanted.timeout_s;
    return core::json_text(body);
}

ApiAccess sender_of(ApiAccess access, const SendEvent& event) {
    if (!event.for_owner.empty()) access.publishes_to_all = true;
    return access;
}

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
    std::optional<client::ApiClient> api;
    std::optional<OwnWebhook> webhook;
    if (options.secret.empty()) {
        api.emplace(api_options(config, access));
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
    app::add_text(command, "ID", o.id, "Of the webhook")->required();
    return command;
}

void add_create(app::CommandLine& line, CLI::App& group, Options& o) {
    auto& command = add_api_command(
        line, group, {"create", "Make a webhook; prints it and its secret"}, o.access,
        [&o](auto& api) {
            return print_answer(
                api.ask({.method = "POST", .path = "/webhooks", .body = body_of(o.create)}));
        });
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
    app::add_number(command, "--timeout-s", o.create.timeout_s, "Seconds for an answer, 1 to 60",
                    60, 1);
}

void add_listen(app::CommandLine& line, CLI::App& group, Options& o) {
    auto& command = line.add(
        group, "listen", "Be a receiver: check each signature and print the event",
        app::Reader::webhooks,
        [&o](const auto& config) { return run_webhook_listen(config, o.access, o.listen); });
    add_api_access(command, o.access);
    app::add_number(command, "PORT", o.listen.port, "Port of 127.0.0.1; by default any free one",
                    65'535);
    command.add_option("--secret", o.listen.secret,
                       "Secret of an existing webhook; by default a webhook is made for this "
                       "receiver, and deleted at the end");
    command.add_option("--type", o.listen.types,
                       "Types of the webhook that is made; may be repeated");
    app::add_number(command, "--count", o.listen.count, "Stop after so many events; 0: never");
    app::add_number(command, "--fail-first", o.listen.fail_first,
                    "Answer 500 to so many requests, which then come again");
    app::add_duration(command, "--timeout", "Stop after this time, with exit code 1 (e.g. 10s)",
                      [&o](auto value) { o.listen.timeout = value; });
}

void add_webhooks(app::CommandLine& line, Options& o) {
    auto& group =
        line.add_group("webhooks", "Make and manage webhooks, which get events as HTTP requests");
    add_create(line, group, o);
    auto& list = add_api_command(
        line, group, {"list", "One line for each webhook of one owner; exit code 3: it has none"},
        o.access, [&o](auto& api) { return list_webhooks(api, o.access.all_owners); });
    add_all_owners(list, o.access, "Webhooks of every owner, as an operator with the key ring");
    add_for_one(line, group, "show", "Show a webhook without its secret", o,
                [&o](auto& api) { return print_answer(api.ask({.path = path_of(o.id)})); });
    add_for_one(line, group, "change", "Change the fields that a JSON object names", o,
                [&o](auto& api) {
                    return print_answer(
                        api.ask({.method = "PATCH", .path = path_of(o.id), .body = o.change}));
                })
        .add_option("JSON", o.change, "For example '{\"types\": [\"order.*\"]}'")
        ->required();
    struct Act {
        const char* name;
        const char* path;
        const char* help;
    };
    for (const auto& [name, path, help] :
         {Act{"enable", "/enable", "Enable a webhook again"},
          Act{"disable", "/disable",
              "Disable a webhook: new events are not kept for it and cannot be redriven; "
              "deliveries that already wait become dead letters"},
          Act{"test", "/test", "Send a webhook an event of type beckon.webhook.test"},
          Act{"rotate", "/secret",
              "Make a new secret; until the next rotation the former one signs too"}}) {
        add_for_one(line, group, name, help, o, [&o, path](auto& api) {
            return print_answer(api.ask({.method = "POST", .path = path_of(o.id, path)}));
        });
    }
    add_for_one(line, group, "attempts", "Show the last attempts at a webhook, the newest first", o,
                [&o](auto& api) { return show_attempts(api, o.id); });
    add_for_one(line, group, "delete", "Delete a webhook; its waiting deliveries are dropped", o,
                [&o](auto& api) {
                    return print_answer(api.ask({.method = "DELETE", .path = path_of(o.id)}));
                });
    add_webhook_redrive(line, group);
    add_listen(line, group, o);
    auto& token = line.add(group, "token", "Print the token of an owner, made with the key ring",
                           app::Reader::webhooks, [&o](const auto& config) {
                               app::print_line(token_of(config, o.owner, o.publishes_to_all));
                               return app::kDone;
                           });
    token.add_option("OWNER", o.owner, "Lower-case letters, digits, - and _")->required();
    token.add_flag("--publish-to-all", o.publishes_to_all,
                   "Its events reach the webhooks of every owner, not only its own");
}

void add_events(app::CommandLine& line, Options& o) {
    auto& group = line.add_group("events", "Post the events that webhooks get");
    auto& send =
        line.add(group, "send", "Post one event, which reaches the owner's own webhooks",
                 app::Reader::webhooks, [&o](const auto& config) {
                     client::ApiClient api{api_options(config, sender_of(o.sender, o.event))};
                     return send_event(api, o.event);
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
