#include "bridge/payload.hpp"

#include "core/base64url.hpp"
#include "core/json_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace beckon::bridge {

using nlohmann::json;

namespace {

std::string text_of(const json& value) { return core::json_text(value); }

/// The data that the app on the device reads, all of it text. Without a body it has the channel
/// alone.
json data_map(const BridgedMessage& message) {
    json data{{"chid", core::to_dashed(message.channel)}};
    if (message.body.empty()) return data;
    data["body"] = core::base64url(message.body);
    const auto put = [&data](const char* name, const std::optional<std::string>& value) {
        if (value) data[name] = *value;
    };
    put("con", message.encoding);
    put("enc", message.encryption);
    put("cryptokey", message.crypto_key);
    put("rid", message.reliability_id);
    return data;
}

/// The alert that iOS shows until the app has decrypted the message and replaced it.
json default_aps() {
    return {{"alert",
             {{"title-loc-key", "SentTab.NoTabArrivingNotification.title"},
              {"loc-key", "SentTab.NoTabArrivingNotification.body"}}},
            {"mutable-content", 1}};
}

}  // namespace

bool fits(const BridgedMessage& message) {
    const auto bytes = message.to.type == core::RouterType::apns
                           ? apns_body(message).size()
                           : text_of(data_map(message)).size();
    return bytes <= kPayloadBytesMax;
}

std::string fcm_body(const BridgedMessage& message, std::chrono::seconds left) {
    const auto ttl = std::clamp(left, kFcmTtlLeast, kFcmTtlMost);
    return text_of(
        {{"message",
          {{"token", message.to.token},
           {"android",
            {{"ttl", std::to_string(ttl.count()) + "s"}, {"data", data_map(message)}}}}}});
}

std::string apns_body(const BridgedMessage& message) {
    auto payload = data_map(message);
    payload["ver"] = message.message_id;
    payload["aps"] = message.to.aps.empty() ? default_aps() : core::parse_json(message.to.aps);
    return text_of(payload);
}

}  // namespace beckon::bridge
