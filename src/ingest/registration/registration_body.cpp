#include "ingest/registration/registration_body.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::ingest {

using nlohmann::json;

namespace {

/// Writing JSON takes stack for each level, and a body has space for thousands.
constexpr int kApsDepthMax = 16;

/// Subtype `json` or suffix `+json`; parameters do not matter.
bool is_json_type(std::optional<std::string_view> content_type) {
    if (!content_type) return false;
    auto type = core::lower(content_type->substr(0, content_type->find(';')));
    while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
    return type.ends_with("/json") || type.ends_with("+json");
}

tl::unexpected<Failure> bad_json(std::string_view detail) {
    return fail(Problem::bad_json, detail);
}

/// Only these mean anything to Apple's service; anything else in `aps` is a mistake.
bool is_known_aps_field(std::string_view name) {
    constexpr std::array<std::string_view, 11> kKnown{"alert",           "badge",
                                                      "sound",           "content-available",
                                                      "category",        "thread-id",
                                                      "mutable-content", "target-content-id",
                                                      "url-args",        "interruption-level",
                                                      "relevance-score"};
    return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
}

Checked<json> parse_object(const HttpRequest& request) {
    if (request.body_too_large) {
        return fail(request.body_length_given ? Problem::json_too_large : Problem::body_too_large);
    }
    if (!is_json_type(request.headers.get(HeaderName::content_type))) {
        return bad_json("Content-Type must be application/json.");
    }
    auto object = core::parse_json(request.body);
    if (!object.is_object()) return bad_json("The body must be one JSON object.");
    return object;
}

Checked<void> read_channel_and_key(const json& object, RegistrationBody& body) {
    if (const auto channel = object.find("channelID");
        channel != object.end() && !channel->is_null()) {
        const auto id = channel->is_string()
                            ? core::parse_uuid(channel->get_ref<const std::string&>())
                            : std::nullopt;
        if (!id) return bad_json("channelID must be a UUID.");
        body.channel = core::ChannelId{*id};
    }
    if (const auto key = object.find("key"); key != object.end() && !key->is_null()) {
        auto bytes = key->is_string() ? core::parse_base64_any(key->get_ref<const std::string&>())
                                      : std::nullopt;
        if (!bytes) return bad_json("key must be a VAPID public key as base64url text.");
        body.key = std::move(*bytes);
    }
    return {};
}

Checked<json> parse_aps(const std::string& text) {
    bool too_deep = false;
    const auto shallow = [&](int depth, json::parse_event_t, json&) {
        too_deep |= depth > kApsDepthMax;
        return !too_deep;
    };
    auto aps = json::parse(text, shallow, false);
    if (too_deep) return bad_json("aps is nested too deeply.");
    if (!aps.is_object()) return bad_json("aps must be text that holds a JSON object.");
    for (const auto& item : aps.items()) {
        if (!is_known_aps_field(item.key())) return bad_json("aps has an unknown field.");
    }
    return aps;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Checked<RegistrationBody> parse_registration(const HttpRequest& request) {
    const auto object = parse_object(request);
    if (!object) return fail(object.error());
    RegistrationBody body;
    const auto* token = core::find_text(*object, "token");
    if (!token) return bad_json("token is required, as text.");
    body.token = *token;
    if (const auto aps = object->find("aps"); aps != object->end() && !aps->is_null()) {
        if (!aps->is_string()) return bad_json("aps must be text that holds a JSON object.");
        body.aps = aps->get<std::string>();
    }
    if (const auto read = read_channel_and_key(*object, body); !read) return fail(read.error());
    return body;
}

Checked<RegistrationBody> parse_subscription(const HttpRequest& request) {
    RegistrationBody body;
    const auto object = parse_object(request);
    if (!object) return body;
    if (const auto read = read_channel_and_key(*object, body); !read) return fail(read.error());
    return body;
}

Checked<std::string> router_data(core::RouterType type, std::string_view app_id,
                                 const RegistrationBody& body, const BridgeNames& names) {
    if (body.token.size() < 8 || body.token.find(' ') != std::string::npos) {
        return bad_json("token must have at least 8 characters and no space.");
    }
    if (type == core::RouterType::fcm) {
        if (!contains(names.fcm_app_ids, app_id)) return fail(Problem::unknown_app_id);
        return core::json_text(json{{"token", body.token}, {"app_id", app_id}});
    }
    if (!contains(names.apns_channels, app_id)) {
        return bad_json("The release channel is not configured here.");
    }
    json data{{"token", body.token}, {"rel_channel", app_id}};
    if (body.aps) {
        auto aps = parse_aps(*body.aps);
        if (!aps) return fail(aps.error());
        data["aps"] = std::move(*aps);
    }
    return core::json_text(data);
}

}  // namespace beckon::ingest
