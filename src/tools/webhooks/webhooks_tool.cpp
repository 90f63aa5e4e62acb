#include "tools/webhooks/webhooks_tool.hpp"

#include "app/command/output.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "core/ascii.hpp"
#include "core/ids.hpp"
#include "core/json_depth.hpp"
#include "core/json_member.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/percent.hpp"
#include "tools/api/api_command.hpp"

#include <fstream>
#include <sstream>

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
    if (!text.starts_with('@')) return text;
    std::ifstream in{text.substr(1)};
    if (!in) throw app::StartupError("cannot read " + text.substr(1));
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
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

std::string joined(const Json& types) {
    std::string out;
    for (const auto& type : types) out += (out.empty() ? "" : " ") + type.get<std::string>();
    return out.empty() ? "(every type)" : out;
}

void print_webhook(const Json& webhook, bool all_owners) {
    const bool enabled = webhook.value("enabled", true);
    const auto owner = all_owners ? core::text_member(webhook, "owner") + "  " : std::string{};
    app::print_line(
        core::text_member(webhook, "id") + "  " + owner +
        (enabled ? "enabled " : "disabled (" + core::text_member(webhook, "reason") + ") ") +
        core::text_member(webhook, "url") + "  " + joined(webhook.value("types", Json::array())));
}

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

int create_webhook(client::ApiClient& api, const CreateWebhook& wanted) {
    return print_answer(api.ask({.method = "POST", .path = "/webhooks", .body = body_of(wanted)}));
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

int show_webhook(client::ApiClient& api, const std::string& id) {
    return print_answer(api.ask({.path = "/webhooks/" + core::percent_encoded(id)}));
}

int act_on_webhook(client::ApiClient& api, const std::string& id, const std::string& action) {
    return print_answer(api.ask(
        {.method = "POST", .path = "/webhooks/" + core::percent_encoded(id) + "/" + action}));
}

int change_webhook(client::ApiClient& api, const std::string& id, const std::string& json) {
    return print_answer(api.ask(
        {.method = "PATCH", .path = "/webhooks/" + core::percent_encoded(id), .body = json}));
}

int delete_webhook(client::ApiClient& api, const std::string& id) {
    return print_answer(
        api.ask({.method = "DELETE", .path = "/webhooks/" + core::percent_encoded(id)}));
}

int show_attempts(client::ApiClient& api, const std::string& id) {
    const auto answer = api.ask({.path = "/webhooks/" + core::percent_encoded(id) + "/attempts"});
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

ApiAccess sender_of(ApiAccess access, const SendEvent& event) {
    if (!event.for_owner.empty()) access.publishes_to_all = true;
    return access;
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

int print_token(const app::Config& config, const std::string& owner, bool publishes_to_all) {
    app::print_line(token_of(config, owner, publishes_to_all));
    return 0;
}

}  // namespace beckon::tools
