#include "retry/api/webhook_body.hpp"

#include "core/ascii.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/terminal_text.hpp"
#include "core/time_text.hpp"
#include "fetch/url.hpp"
#include "retry/api/own_headers.hpp"
#include "retry/attachment/attachments.hpp"
#include "retry/event/event.hpp"
#include "retry/filter/query.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;
using std::chrono::seconds;

namespace {

constexpr std::string_view kAuthorization = "Authorization";

using Checked = core::Result<void>;

tl::unexpected<core::Error> invalid(std::string why) {
    return core::fail(Fault::invalid, std::move(why));
}

// ------------------------------------------------------------------------------------- the URL

Checked check_host(std::string host, const AddressGuard& guard) {
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    const auto address = parse_address(host);
    if (!address) return {};  // a name is looked up at each connection, and judged there
    if (const auto why = guard.forbidden(*address); !why.empty()) {
        return invalid("$.url leads to an address that is not allowed (" + std::string{why} +
                       "): only public addresses are, and those that the operator lists in "
                       "retry.allowed_addresses");
    }
    return {};
}

Checked check_url(const std::string& text, const AddressGuard& guard) {
    if (text.size() > kUrlBytesMax) return invalid("$.url may have 2048 bytes");
    if (has_control_character(text) || text.find(' ') != std::string::npos) {
        return invalid("$.url has blanks or control characters");
    }
    if (!text.starts_with("http://") && !text.starts_with("https://")) {
        return invalid("$.url must begin with https:// or http://");
    }
    if (text[text.find("://") + 3] == '/') {  // libcurl would take the path for the host
        return invalid("$.url must have a host behind https:// or http://");
    }
    const auto url = fetch::Url::parse(text);
    if (!url) return invalid("$.url is no URL: " + url.error().message);
    if (url->part(CURLUPART_FRAGMENT)) return invalid("$.url must have no fragment (#…)");
    return check_host(url->host(), guard);
}

// ---------------------------------------------------------------------------------- the fields

Checked take_text(const Json& value, const char* path, std::size_t bytes_max, std::string& out) {
    if (!value.is_string()) return invalid(std::string{path} + " must be a string");
    auto text = value.get<std::string>();
    if (text.size() > bytes_max) {
        return invalid(std::string{path} + " may have " + std::to_string(bytes_max) + " bytes");
    }
    out = std::move(text);
    return {};
}

Checked take_whole(const Json& value, const char* path, std::int64_t most, std::int64_t& out) {
    // JSON has one kind of number: 10.0 is as whole as 10.
    const bool fits =
        value.is_number() && value >= 1 && value <= most && value == value.get<std::int64_t>();
    if (!fits) {
        return invalid(std::string{path} + " must be a whole number from 1 to " +
                       std::to_string(most));
    }
    out = value.get<std::int64_t>();
    return {};
}

Checked take_url(const Json& value, Webhook& webhook, const AddressGuard& guard) {
    if (!value.is_string()) return invalid("$.url must be a string");
    auto text = value.get<std::string>();
    if (auto checked = check_url(text, guard); !checked) return checked;
    auto plain = without_user(text);
    if (!plain) return core::fail(plain.error());
    webhook.url = std::move(plain->url);
    if (plain->authorization.empty()) return {};
    auto headers = with_own_header(webhook.headers, kAuthorization, plain->authorization);
    if (!headers) return core::fail(headers.error());
    webhook.headers = std::move(*headers);
    return {};
}

Checked take_headers(const Json& value, Webhook& webhook, const AddressGuard&) {
    auto headers = parse_own_headers(value);
    if (!headers) return core::fail(headers.error());
    webhook.headers = std::move(*headers);
    return {};
}

Checked take_method(const Json& value, Webhook& webhook, const AddressGuard&) {
    if (value != "POST" && value != "PUT") return invalid("$.method must be \"POST\" or \"PUT\"");
    webhook.method = value == "PUT" ? Method::put : Method::post;
    return {};
}

Checked take_encoding(const Json& value, Webhook& webhook, const AddressGuard&) {
    if (value != "json" && value != "multipart") {
        return invalid("$.encoding must be \"json\" or \"multipart\"");
    }
    webhook.encoding = value == "multipart" ? Encoding::multipart : Encoding::json;
    return {};
}

Checked take_mode(const Json& value, Webhook& webhook, const AddressGuard&) {
    if (value != "structured" && value != "binary") {
        return invalid("$.mode must be \"structured\" or \"binary\"");
    }
    webhook.mode = value == "binary" ? ContentMode::binary : ContentMode::structured;
    return {};
}

/// Checks a text that stands between quotes in a header: in the form's, or in that of a signature.
Checked check_quoted(std::string_view text, const std::string& path, std::size_t bytes_max) {
    const bool good = !text.empty() && text.size() <= bytes_max && !has_control_character(text) &&
                      text.find_first_of("\"\\") == std::string_view::npos;
    if (good) return {};
    return invalid(path + " must have 1 to " + std::to_string(bytes_max) +
                   " characters, without quotes and control characters");
}

Checked check_field_name(std::string_view name, const std::string& path) {
    return check_quoted(name, path, 64);
}

Checked take_form_fields(const Json& value, Webhook& webhook, const AddressGuard&) {
    if (!value.is_object() || value.size() > kFormFieldsMax) {
        return invalid("$.form_fields must be an object of at most 32 names and texts");
    }
    std::map<std::string, std::string> fields;
    for (const auto& [name, text] : value.items()) {
        if (auto checked = check_field_name(name, "a name in $.form_fields"); !checked) {
            return checked;
        }
        const auto path = "$.form_fields." + name;
        if (auto taken = take_text(text, path.c_str(), kFormBytesMax, fields[name]); !taken) {
            return taken;
        }
    }
    webhook.form_fields = std::move(fields);
    return {};
}

Checked take_payload_field(const Json& value, Webhook& webhook, const AddressGuard&) {
    std::string name;
    if (auto taken = take_text(value, "$.payload_field", 64, name); !taken) return taken;
    if (auto checked = check_field_name(name, "$.payload_field"); !checked) return checked;
    webhook.payload_field = std::move(name);
    return {};
}

bool is_type(const Json& value) {
    if (!value.is_string()) return false;
    const auto& text = value.get_ref<const std::string&>();
    if (text.empty() || text.size() > kTypeBytesMax || core::has_terminal_control(text))
        return false;
    const auto star = text.find('*');
    return star == std::string::npos ||
           (star == text.size() - 1 && (star == 0 || text[star - 1] == '.'));
}

Checked take_types(const Json& value, Webhook& webhook, const AddressGuard&) {
    if (!value.is_array() || value.size() > kTypesMax) {
        return invalid("$.types must be a list of at most 64 event types");
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (is_type(value[i])) continue;
        return invalid("$.types[" + std::to_string(i) +
                       "] must be an event type of 1 to 256 bytes, or the beginning of some and "
                       "'.*' (\"order.*\")");
    }
    webhook.types = value.get<std::vector<std::string>>();
    return {};
}

Checked take_filter(const Json& value, Webhook& webhook, const AddressGuard&) {
    const auto query = Query::compile(value);
    if (!query) {  // "$.bool.must[1] …", of the filter
        auto why = query.error().message;
        if (why.starts_with("$")) why.insert(1, ".filter");
        return invalid(std::move(why));
    }
    webhook.filter = core::json_text(value);
    return {};
}

Checked take_attachments(const Json& value, Webhook& webhook, const AddressGuard&) {
    if (!value.is_object() || value.size() > kAttachmentsMax) {
        return invalid("$.attachments must be an object of at most 32 names and expressions");
    }
    std::map<std::string, std::string> attachments;
    for (const auto& [name, expression] : value.items()) {
        const auto path = "$.attachments." + name.substr(0, kAttachmentNameBytesMax);
        if (!expression.is_string()) return invalid(path + " must be a string");
        auto text = expression.get<std::string>();
        if (const auto checked = check_attachment(name, text); !checked) {
            return invalid(path + ": " + checked.error().message);
        }
        attachments.emplace(name, std::move(text));
    }
    webhook.attachments = std::move(attachments);
    return {};
}

Checked take_ordered(const Json& value, Webhook& webhook, const AddressGuard&) {
    if (!value.is_boolean()) return invalid("$.ordered must be true or false");
    webhook.ordered = value.get<bool>();
    return {};
}

Checked take_at_a_time(const Json& value, Webhook& webhook, const AddressGuard&) {
    std::int64_t number = 0;
    if (auto taken = take_whole(value, "$.at_a_time", kAtATimeMax, number); !taken) return taken;
    webhook.at_a_time = static_cast<std::size_t>(number);
    return {};
}

Checked take_timeout(const Json& value, Webhook& webhook, const AddressGuard&) {
    std::int64_t number = 0;
    if (auto taken = take_whole(value, "$.timeout_s", kTimeoutMax.count(), number); !taken) {
        return taken;
    }
    webhook.timeout = seconds{number};
    return {};
}

/// A name as in the domain name system, which stands in headers.
Checked take_request_origin(const Json& value, Webhook& webhook, const AddressGuard&) {
    std::string origin;
    if (auto taken = take_text(value, "$.request_origin", kOriginBytesMax, origin); !taken) {
        return taken;
    }
    if (origin.empty() || !core::is_alphanumeric(origin, "-.")) {
        return invalid("$.request_origin must be a name such as events.example.com");
    }
    webhook.request_origin = std::move(origin);
    return {};
}

Checked take_description(const Json& value, Webhook& webhook, const AddressGuard&) {
    return take_text(value, "$.description", kDescriptionBytesMax, webhook.description);
}

Checked take_secret(const Json& value, Webhook& webhook, const AddressGuard&) {
    if (!value.is_string()) return invalid("$.secret must be a string");
    auto secret = parse_secret(value.get_ref<const std::string&>());
    if (!secret) return invalid("$.secret: " + secret.error().message);
    webhook.secrets = {std::move(*secret)};
    return {};
}

Checked take_shared_key(const Json& value, Webhook& webhook, const AddressGuard&) {
    const bool shaped =
        value.is_object() && value.size() == 2 && value.contains("id") && value.contains("secret");
    if (!shaped) return invalid("$.shared_key must be {\"id\": …, \"secret\": …}");
    SharedKey key;
    if (auto taken = take_text(value["id"], "$.shared_key.id", kKeyIdBytesMax, key.id); !taken) {
        return taken;
    }
    if (auto taken = take_text(value["secret"], "$.shared_key.secret", 256, key.secret); !taken) {
        return taken;
    }
    if (auto checked = check_quoted(key.id, "$.shared_key.id", kKeyIdBytesMax); !checked) {
        return checked;
    }
    if (key.secret.size() < 16) return invalid("$.shared_key.secret must have at least 16 bytes");
    webhook.shared_key = std::move(key);
    return {};
}

struct Field {
    std::string_view name;
    Checked (*take)(const Json&, Webhook&, const AddressGuard&);
    void (*reset)(Webhook&);  ///< to the default; nullptr: there is none
};

constexpr std::array<Field, 17> kFields{{
    {"headers", take_headers, [](Webhook& w) { w.headers.clear(); }},
    {"url", take_url, nullptr},
    {"types", take_types, [](Webhook& w) { w.types.clear(); }},
    {"filter", take_filter, [](Webhook& w) { w.filter.clear(); }},
    {"attachments", take_attachments, [](Webhook& w) { w.attachments.clear(); }},
    {"method", take_method, [](Webhook& w) { w.method = Method::post; }},
    {"encoding", take_encoding, [](Webhook& w) { w.encoding = Encoding::json; }},
    {"mode", take_mode, [](Webhook& w) { w.mode = ContentMode::structured; }},
    {"form_fields", take_form_fields, [](Webhook& w) { w.form_fields.clear(); }},
    {"payload_field", take_payload_field, [](Webhook& w) { w.payload_field = "payload"; }},
    {"ordered", take_ordered, [](Webhook& w) { w.ordered = false; }},
    {"at_a_time", take_at_a_time, [](Webhook& w) { w.at_a_time = kAtATimeMax; }},
    {"timeout_s", take_timeout, [](Webhook& w) { w.timeout = Webhook{}.timeout; }},
    {"request_origin", take_request_origin, [](Webhook& w) { w.request_origin.clear(); }},
    {"description", take_description, [](Webhook& w) { w.description.clear(); }},
    {"secret", take_secret, nullptr},
    {"shared_key", take_shared_key, [](Webhook& w) { w.shared_key.reset(); }},
}};

std::string known_fields() {
    std::string out;
    for (const auto& field : kFields) out.append(out.empty() ? "" : ", ").append(field.name);
    return out;
}

Checked take_field(const std::string& name, const Json& value, Webhook& webhook,
                   const AddressGuard& guard) {
    for (const auto& field : kFields) {
        if (field.name != name) continue;
        if (!value.is_null()) return field.take(value, webhook, guard);
        if (!field.reset) return invalid("$." + name + " must not be null");
        field.reset(webhook);
        return {};
    }
    return invalid("$." + name.substr(0, 64) + " is no field of a webhook; there are " +
                   known_fields());
}

/// Checks fields that depend on each other.
Checked check_together(const Webhook& webhook) {
    if (webhook.url.empty()) return invalid("$.url is missing: where the events are sent");
    if (webhook.shared_key && has_own_header(webhook.headers, kAuthorization)) {
        return invalid(
            "$.shared_key makes the header Authorization: it goes neither with one of $.headers "
            "nor with a user name in $.url");
    }
    if (!webhook.request_origin.empty() && has_own_header(webhook.headers, "Origin")) {
        return invalid("$.request_origin makes the header Origin, which $.headers has too");
    }
    if (webhook.mode == ContentMode::structured) return {};
    if (webhook.encoding == Encoding::multipart) {
        return invalid("$.mode must be \"structured\" where $.encoding is \"multipart\"");
    }
    if (!webhook.attachments.empty()) {
        return invalid(
            "$.mode must be \"structured\" where there are $.attachments: in binary mode the body "
            "is "
            "the event's data alone");
    }
    return {};
}

}  // namespace

Checked change(Webhook& webhook, std::string_view body, const AddressGuard& guard) {
    if (is_too_deep(body)) return invalid("$ is nested too deeply");
    const auto parsed = core::parse_json(body);
    if (parsed.is_discarded()) return invalid("$ is no JSON");
    if (!parsed.is_object()) return invalid("$ must be an object");
    for (const auto& [name, value] : parsed.items()) {
        if (auto taken = take_field(name, value, webhook, guard); !taken) return taken;
    }
    return check_together(webhook);
}

/// The filter stands in it as it is in the log: an owner's filters may have megabytes, which nobody
/// else waits for.
std::string webhook_page(const WebhookDirectory::Entry& entry) {
    const auto& webhook = entry.webhook;
    Json page{{"id", webhook.id},
              {"owner", webhook.owner},
              {"url", webhook.url},
              {"types", webhook.types},
              {"attachments", webhook.attachments},
              {"method", webhook.method == Method::put ? "PUT" : "POST"},
              {"encoding", webhook.encoding == Encoding::multipart ? "multipart" : "json"},
              {"mode", webhook.mode == ContentMode::binary ? "binary" : "structured"},
              {"headers", Json::array()},
              {"form_fields", webhook.form_fields},
              {"payload_field", webhook.payload_field},
              {"ordered", webhook.ordered},
              {"at_a_time", webhook.at_a_time},
              {"timeout_s", webhook.timeout.count()},
              {"request_origin", nullptr},
              {"description", webhook.description},
              {"created", core::time_text(webhook.created)},
              {"secrets", webhook.secrets.size()},
              {"shared_key", nullptr},
              {"enabled", entry.state.enabled},
              {"reason", entry.state.reason},
              {"failing_since", nullptr},
              {"filter_too_costly", nullptr},
              {"memory_bytes", entry.memory_bytes}};
    for (const auto& [name, value] : webhook.headers) page["headers"].push_back(name);
    if (!webhook.request_origin.empty()) page["request_origin"] = webhook.request_origin;
    if (webhook.shared_key) page["shared_key"] = {{"id", webhook.shared_key->id}};
    if (entry.state.failing_since)
        page["failing_since"] = core::time_text(*entry.state.failing_since);
    if (entry.costly) {
        page["filter_too_costly"] = {{"at", core::time_text(entry.costly->at)},
                                     {"source", entry.costly->source},
                                     {"id", entry.costly->event}};
    }
    const auto& filter = webhook.filter;
    return core::with_json_member(core::json_text(page), "filter",
                                  filter.empty() ? "null" : std::string_view{filter});
}

std::string webhooks_page(const WebhooksPage& page) {
    std::string list{"["};
    for (const auto& webhook : page.webhooks) {
        if (list.size() > 1) list += ',';
        list += webhook;
    }
    list += ']';
    Json rest{{"next", page.next ? Json(*page.next) : Json()}};
    if (page.usage) {
        const auto& used = *page.usage;
        rest["usage"] = {
            {"attempts", used.attempts},
            {"delivered", used.delivered},
            {"attempt_ms", std::chrono::floor<std::chrono::milliseconds>(used.time).count()},
            {"sent_bytes", used.bytes},
            {"requeued", used.requeued},
            {"under_way", used.under_way},
            {"waiting", used.waiting}};
    }
    return core::with_json_member(core::json_text(rest), "webhooks", list);
}

}  // namespace beckon::retry
