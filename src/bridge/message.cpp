#include "bridge/message.hpp"

#include "core/base64url.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/whole_number.hpp"
#include "records/fields.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::bridge {

using core::Fault;
using nlohmann::json;

namespace {

constexpr std::string_view kDeliveryType = "beckon.delivery.v1";
constexpr std::string_view kEventType = "beckon.message.bridged.v1";
constexpr std::string_view kIdPrefix = "msg_";

std::optional<std::string> optional_in(const json& object, const char* name) {
    const auto* found = core::find_text(object, name);
    return found ? std::optional{*found} : std::nullopt;
}

template <class Text>
void put(json& object, const char* name, const std::optional<Text>& value) {
    if (value) object[name] = *value;
}

json data_of(const BridgedMessage& message) {
    json data{{"bridge", core::to_string(message.to.type)},
              {"app", message.to.app},
              {"token", message.to.token},
              {"ttl", message.ttl_s}};
    if (!message.to.aps.empty()) data["aps"] = core::parse_json(message.to.aps);
    put(data, "topic", message.topic);
    if (message.urgency) data["urgency"] = core::to_string(*message.urgency);
    put(data, "encoding", message.encoding);
    put(data, "encryption", message.encryption);
    put(data, "crypto_key", message.crypto_key);
    put(data, "reliability_id", message.reliability_id);
    if (!message.body.empty()) data["body"] = core::base64url(message.body);
    return data;
}

core::Result<Recipient> read_recipient(const json& data) {
    const auto type = core::parse_router_type(core::text_member(data, "bridge"));
    Recipient to{.type = type.value_or(core::RouterType::webpush),
                 .app = core::text_member(data, "app"),
                 .token = core::text_member(data, "token")};
    const bool bridge = to.type == core::RouterType::fcm || to.type == core::RouterType::apns;
    if (!bridge || to.app.empty() || to.token.empty()) {
        return core::fail(Fault::corrupt, "a bridged message without bridge, app or token");
    }
    if (const auto* aps = core::find_object(data, "aps")) to.aps = core::json_text(*aps);
    return to;
}

core::Result<void> read_data(const json& data, BridgedMessage& message) {
    auto to = read_recipient(data);
    if (!to) return core::fail(to.error());
    message.to = std::move(*to);
    const auto ttl = data.find("ttl");
    const auto ttl_s =
        ttl == data.end() ? std::nullopt : core::find_whole_number<std::uint32_t>(*ttl);
    if (!ttl_s) return core::fail(Fault::corrupt, "a bridged message without TTL");
    message.ttl_s = *ttl_s;
    message.topic = optional_in(data, "topic");
    if (const auto urgency = optional_in(data, "urgency")) {
        message.urgency = core::parse_urgency(*urgency);
    }
    message.encoding = optional_in(data, "encoding");
    message.encryption = optional_in(data, "encryption");
    message.crypto_key = optional_in(data, "crypto_key");
    message.reliability_id = optional_in(data, "reliability_id");
    auto body = core::parse_base64url(core::text_member(data, "body"));
    if (!body) return core::fail(Fault::corrupt, "a bridged message with a broken body");
    message.body = std::move(*body);
    return {};
}

template <class Text>
std::optional<std::string> owned(const std::optional<Text>& text) {
    return text ? std::optional{std::string{*text}} : std::nullopt;
}

}  // namespace

core::Result<Recipient> recipient_of(core::RouterType type, std::string_view router_data) {
    const auto data = core::parse_json(router_data);
    if (!data.is_object()) return core::fail(Fault::not_found, "no router data");
    const bool apns = type == core::RouterType::apns;
    Recipient to{.type = type,
                 .app = core::text_member(data, apns ? "rel_channel" : "app_id"),
                 .token = core::text_member(data, "token")};
    if (to.app.empty() || to.token.empty()) {
        return core::fail(Fault::not_found, "router data without token or app");
    }
    const auto* aps = core::find_object(data, "aps");
    if (apns && aps) to.aps = core::json_text(*aps);
    return to;
}

BridgedMessage bridged_message(const core::NotificationAccepted& event, Recipient to) {
    return {.uaid = event.uaid,
            .key = event.key,
            .message_id = std::string{event.message_id},
            .channel = event.channel,
            .to = std::move(to),
            .ttl_s = event.ttl_s,
            .topic = owned(event.topic),
            .urgency = event.urgency,
            .encoding = owned(event.encoding),
            .encryption = owned(event.encryption),
            .crypto_key = owned(event.crypto_key),
            .reliability_id = owned(event.reliability_id),
            .traceparent = owned(event.traceparent),
            .source = std::string{event.source},
            .body = std::string{event.body}};
}

core::Record encode(const BridgedMessage& message) {
    json event{{"specversion", "1.0"},
               {"id", message.message_id},
               {"source", message.source},
               {"type", kEventType},
               {"subject", core::to_dashed(message.channel)},
               {"datacontenttype", "application/json"},
               {"data", data_of(message)}};
    put(event, "traceparent", message.traceparent);
    auto record =
        core::record_of(core::to_hex(message.uaid), core::json_text(event), kDeliveryType);
    core::HeaderWriter headers{record, 4};
    headers.add(core::header::kId, std::string{kIdPrefix} + core::to_hex(message.key));
    headers.add(core::header::kContentType, std::string_view{"application/json"});
    return record;
}

bool is_bridged(std::string_view delivery_id) { return delivery_id.starts_with(kIdPrefix); }

core::Result<BridgedMessage> parse_bridged(std::string_view delivery_id, std::string_view uaid,
                                           std::string_view event) {
    const auto client = core::parse_hex16(uaid);
    const auto key = is_bridged(delivery_id)
                         ? core::parse_hex16(delivery_id.substr(kIdPrefix.size()))
                         : std::nullopt;
    if (!client || !key) return core::fail(Fault::corrupt, "a bridged message without client");
    const auto object = core::parse_json(event);
    const auto* data = core::find_object(object, "data");
    if (!data || core::text_member(object, "type") != kEventType) {
        return core::fail(Fault::corrupt, "the event is no bridged message");
    }
    const auto channel = core::parse_dashed(core::text_member(object, "subject"));
    if (!channel) return core::fail(Fault::corrupt, "a bridged message without channel");
    BridgedMessage message{.uaid = core::Uaid{*client},
                           .key = core::MessageKey{*key},
                           .message_id = core::text_member(object, "id"),
                           .channel = core::ChannelId{*channel},
                           .traceparent = optional_in(object, "traceparent"),
                           .source = core::text_member(object, "source")};
    if (auto read = read_data(*data, message); !read) return core::fail(read.error());
    return message;
}

}  // namespace beckon::bridge
