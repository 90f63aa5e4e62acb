#include "retry/api/webhook_body.hpp"

#include "core/ascii.hpp"
#include "core/enum_names.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/terminal_text.hpp"
#include "core/time_text.hpp"
#include "fetch/url.hpp"
#include "retry/api/own_headers.hpp"
#include "retry/event/attachment/attachments.hpp"
#include "retry/event/event.hpp"
#include "retry/event/filter/query.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;
using std::chrono::seconds;

namespace {

constexpr std::string_view kAuthorization = "Authorization";

/// The fault of a body, which begins with its JSON path.
struct Broken {
    std::string why;
};

/// What a call that Broken may leave has returned.
template <class T>
T must(core::Result<T> result) {
    if (!result) throw Broken{result.error().message};
    return std::move(*result);
}

/// A value of the body, and its JSON path. Throws Broken.
struct Given {
    const Json& value;
    std::string path;
    const AddressGuard* guard = nullptr;  ///< for the URL

    [[noreturn]] void refuse(const std::string& why) const { throw Broken{path + " " + why}; }
    std::string text(std::size_t bytes_max) const {
        if (!value.is_string()) refuse("must be a string");
        auto text = value.get<std::string>();
        if (text.size() > bytes_max) refuse("may have " + std::to_string(bytes_max) + " bytes");
        return text;
    }
    /// A text that stands between quotes in a header: in the form's, or in that of a signature.
    std::string quoted(std::size_t bytes_max) const {
        auto text = value.is_string() ? value.get<std::string>() : "";
        const bool good = !text.empty() && text.size() <= bytes_max &&
                          !has_control_character(text) &&
                          text.find_first_of("\"\\") == std::string::npos;
        if (good) return text;
        refuse("must have 1 to " + std::to_string(bytes_max) +
               " characters, without quotes and control characters");
    }
    /// JSON has one kind of number: 10.0 is as whole as 10.
    std::int64_t whole(std::int64_t most) const {
        const bool fits =
            value.is_number() && value >= 1 && value <= most && value == value.get<std::int64_t>();
        if (!fits) refuse("must be a whole number from 1 to " + std::to_string(most));
        return value.get<std::int64_t>();
    }
    bool boolean() const {
        if (!value.is_boolean()) refuse("must be true or false");
        return value.get<bool>();
    }
    OwnHeaders headers() const { return must(parse_own_headers(value)); }
    /// The value of an enum of two, by its name.
    template <class Enum>
    Enum one_of() const {
        const auto found =
            core::value_named<Enum>(value.is_string() ? value.get<std::string>() : "");
        if (found) return *found;
        const auto& names = core::kNamesOf<Enum>;
        refuse("must be \"" + std::string{names[0]} + "\" or \"" + std::string{names[1]} + "\"");
    }
};

// ------------------------------------------------------------------------------------- the URL

void check_host(std::string host, const AddressGuard& guard) {
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    const auto address = parse_address(host);
    if (!address) return;  // a name is looked up at each connection, and judged there
    if (const auto why = guard.forbidden(*address); !why.empty()) {
        throw Broken{"$.url leads to an address that is not allowed (" + std::string{why} +
                     "): only public addresses are, and those that the operator lists in "
                     "retry.allowed_addresses"};
    }
}

void check_url(const std::string& text, const AddressGuard& guard) {
    if (has_control_character(text) || text.find(' ') != std::string::npos) {
        throw Broken{"$.url has blanks or control characters"};
    }
    if (!text.starts_with("http://") && !text.starts_with("https://")) {
        throw Broken{"$.url must begin with https:// or http://"};
    }
    if (text[text.find("://") + 3] == '/') {  // libcurl would take the path for the host
        throw Broken{"$.url must have a host behind https:// or http://"};
    }
    const auto url = fetch::Url::parse(text);
    if (!url) throw Broken{"$.url is no URL: " + url.error().message};
    if (url->part(CURLUPART_FRAGMENT)) throw Broken{"$.url must have no fragment (#…)"};
    check_host(url->host(), guard);
}

// ---------------------------------------------------------------------------------- the fields

void take_url(const Given& given, Webhook& webhook) {
    const auto text = given.text(kUrlBytesMax);
    check_url(text, *given.guard);
    auto plain = must(without_user(text));
    webhook.url = std::move(plain.url);
    if (plain.authorization.empty()) return;
    webhook.headers = must(with_own_header(webhook.headers, kAuthorization, plain.authorization));
}

void take_method(const Given& given, Webhook& webhook) {
    const bool put = given.value == to_string(Method::put);
    if (!put && given.value != to_string(Method::post)) given.refuse("must be \"POST\" or \"PUT\"");
    webhook.method = put ? Method::put : Method::post;
}

void take_form_fields(const Given& given, Webhook& webhook) {
    if (!given.value.is_object() || given.value.size() > kFormFieldsMax) {
        given.refuse("must be an object of at most 32 names and texts");
    }
    std::map<std::string, std::string> fields;
    for (const auto& [name, text] : given.value.items()) {
        Given{Json(name), "a name in $.form_fields"}.quoted(kFieldNameBytesMax);
        fields[name] = Given{text, "$.form_fields." + name}.text(kFormBytesMax);
    }
    webhook.form_fields = std::move(fields);
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

void take_types(const Given& given, Webhook& webhook) {
    if (!given.value.is_array() || given.value.size() > kTypesMax) {
        given.refuse("must be a list of at most 64 event types");
    }
    const auto bad = std::find_if_not(given.value.begin(), given.value.end(), is_type);
    if (bad != given.value.end()) {
        throw Broken{"$.types[" + std::to_string(bad - given.value.begin()) +
                     "] must be an event type of 1 to 256 bytes, or the beginning of some and '.*' "
                     "(\"order.*\")"};
    }
    webhook.types = given.value.get<std::vector<std::string>>();
}

void take_filter(const Given& given, Webhook& webhook) {
    auto query = Query::compile(given.value);
    if (!query) throw Broken{query.error().message.insert(1, ".filter")};  // "$.bool.must[1] …"
    webhook.filter = core::json_text(given.value);
}

void take_attachments(const Given& given, Webhook& webhook) {
    if (!given.value.is_object() || given.value.size() > kAttachmentsMax) {
        given.refuse("must be an object of at most 32 names and expressions");
    }
    std::map<std::string, std::string> attachments;
    for (const auto& [name, expression] : given.value.items()) {
        const Given one{expression, "$.attachments." + name.substr(0, kAttachmentNameBytesMax)};
        auto text = one.text(std::string::npos);
        if (const auto checked = check_attachment(name, text); !checked) {
            throw Broken{one.path + ": " + checked.error().message};
        }
        attachments.emplace(name, std::move(text));
    }
    webhook.attachments = std::move(attachments);
}

/// A name as in the domain name system, which stands in headers.
void take_request_origin(const Given& given, Webhook& webhook) {
    auto origin = given.text(kOriginBytesMax);
    if (origin.empty() || !core::is_alphanumeric(origin, "-.")) {
        given.refuse("must be a name such as events.example.com");
    }
    webhook.request_origin = std::move(origin);
}

void take_secret(const Given& given, Webhook& webhook) {
    auto secret = parse_secret(given.text(std::string::npos));
    if (!secret) throw Broken{"$.secret: " + secret.error().message};
    webhook.secrets = {std::move(*secret)};
}

void take_shared_key(const Given& given, Webhook& webhook) {
    const auto& value = given.value;
    const bool shaped =
        value.is_object() && value.size() == 2 && value.contains("id") && value.contains("secret");
    if (!shaped) given.refuse("must be {\"id\": …, \"secret\": …}");
    SharedKey key{Given{value["id"], "$.shared_key.id"}.quoted(kKeyIdBytesMax),
                  Given{value["secret"], "$.shared_key.secret"}.text(256)};
    if (key.secret.size() < 16) throw Broken{"$.shared_key.secret must have at least 16 bytes"};
    webhook.shared_key = std::move(key);
}

struct Field {
    std::string_view name;
    void (*take)(const Given&, Webhook&);
    void (*reset)(Webhook&);  ///< to the default; nullptr: there is none
};

template <auto member>
void reset(Webhook& webhook) {
    webhook.*member = Webhook{}.*member;
}

template <auto member, auto read, auto... bounds>
void take_simple(const Given& given, Webhook& webhook) {
    using Value = std::remove_cvref_t<decltype(webhook.*member)>;
    webhook.*member = static_cast<Value>((given.*read)(bounds...));
}

/// A field that is read as Given has it.
template <auto member, auto read, auto... bounds>
constexpr Field simple(std::string_view name) {
    return {name, take_simple<member, read, bounds...>, reset<member>};
}

constexpr std::array kFields{
    Field{"url", take_url, nullptr},
    Field{"types", take_types, reset<&Webhook::types>},
    Field{"filter", take_filter, reset<&Webhook::filter>},
    Field{"attachments", take_attachments, reset<&Webhook::attachments>},
    Field{"method", take_method, reset<&Webhook::method>},
    Field{"form_fields", take_form_fields, reset<&Webhook::form_fields>},
    Field{"request_origin", take_request_origin, reset<&Webhook::request_origin>},
    Field{"secret", take_secret, nullptr},
    Field{"shared_key", take_shared_key, reset<&Webhook::shared_key>},
    simple<&Webhook::headers, &Given::headers>("headers"),
    simple<&Webhook::encoding, &Given::one_of<Encoding>>("encoding"),
    simple<&Webhook::mode, &Given::one_of<ContentMode>>("mode"),
    simple<&Webhook::payload_field, &Given::quoted, kFieldNameBytesMax>("payload_field"),
    simple<&Webhook::ordered, &Given::boolean>("ordered"),
    simple<&Webhook::at_a_time, &Given::whole, kAtATimeMax>("at_a_time"),
    simple<&Webhook::timeout, &Given::whole, kTimeoutMax.count()>("timeout_s"),
    simple<&Webhook::description, &Given::text, kDescriptionBytesMax>("description"),
};

void take_field(const Given& given, const std::string& name, Webhook& webhook) {
    std::string known;
    for (const auto& field : kFields) {
        known.append(known.empty() ? "" : ", ").append(field.name);
        if (field.name != name) continue;
        if (!given.value.is_null()) return field.take(given, webhook);
        if (!field.reset) given.refuse("must not be null");
        return field.reset(webhook);
    }
    throw Broken{"$." + name.substr(0, 64) + " is no field of a webhook; there are " + known};
}

/// Checks fields that depend on each other.
void check_together(const Webhook& webhook) {
    if (webhook.url.empty()) throw Broken{"$.url is missing: where the events are sent"};
    if (webhook.shared_key && has_own_header(webhook.headers, kAuthorization)) {
        throw Broken{
            "$.shared_key makes the header Authorization: it goes neither with one of $.headers "
            "nor with a user name in $.url"};
    }
    if (!webhook.request_origin.empty() && has_own_header(webhook.headers, "Origin")) {
        throw Broken{"$.request_origin makes the header Origin, which $.headers has too"};
    }
    if (webhook.mode == ContentMode::structured) return;
    if (webhook.encoding == Encoding::multipart) {
        throw Broken{"$.mode must be \"structured\" where $.encoding is \"multipart\""};
    }
    if (!webhook.attachments.empty()) {
        throw Broken{
            "$.mode must be \"structured\" where there are $.attachments: in binary mode the body "
            "is the event's data alone"};
    }
}

}  // namespace

core::Result<void> change(Webhook& webhook, std::string_view body, const AddressGuard& guard) {
    try {
        if (is_too_deep(body)) throw Broken{"$ is nested too deeply"};
        const auto parsed = core::parse_json(body);
        if (parsed.is_discarded()) throw Broken{"$ is no JSON"};
        if (!parsed.is_object()) throw Broken{"$ must be an object"};
        for (const auto& [name, value] : parsed.items()) {
            take_field({value, "$." + name, &guard}, name, webhook);
        }
        check_together(webhook);
        return {};
    } catch (const Broken& broken) {
        return core::fail(Fault::invalid, broken.why);
    }
}

/// The filter stands in it as it is in the log: an owner's filters may have megabytes, which nobody
/// else waits for.
std::string webhook_page(const WebhookDirectory::Entry& entry) {
    const auto& webhook = entry.webhook;
    const auto& state = entry.state;
    Json page{
        {"id", webhook.id},
        {"owner", webhook.owner},
        {"url", webhook.url},
        {"types", webhook.types},
        {"attachments", webhook.attachments},
        {"method", to_string(webhook.method)},
        {"encoding", core::name_of(webhook.encoding)},
        {"mode", core::name_of(webhook.mode)},
        {"headers", Json::array()},
        {"form_fields", webhook.form_fields},
        {"payload_field", webhook.payload_field},
        {"ordered", webhook.ordered},
        {"at_a_time", webhook.at_a_time},
        {"timeout_s", webhook.timeout.count()},
        {"request_origin", webhook.request_origin.empty() ? Json() : Json(webhook.request_origin)},
        {"description", webhook.description},
        {"created", core::time_text(webhook.created)},
        {"secrets", webhook.secrets.size()},
        {"shared_key", nullptr},
        {"enabled", state.enabled},
        {"reason", state.reason},
        {"failing_since",
         state.failing_since ? Json(core::time_text(*state.failing_since)) : Json()},
        {"filter_too_costly", nullptr},
        {"memory_bytes", entry.memory_bytes}};
    for (const auto& [name, value] : webhook.headers) page["headers"].push_back(name);
    if (webhook.shared_key) page["shared_key"] = {{"id", webhook.shared_key->id}};
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
