#include "client/subscription.hpp"

#include "client/url.hpp"
#include "core/base64url.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::client {

using core::Fault;
using nlohmann::json;

namespace {

struct KeyField {
    const char* name;
    std::size_t size;
};

core::Result<std::string> key_of(const json& keys, KeyField field) {
    const auto* text = core::find_text(keys, field.name);
    const std::string name = std::string{"keys."} + field.name;
    if (!text) {
        return core::fail(Fault::invalid, "the subscription has no text '" + name + "'");
    }
    auto bytes = core::parse_base64_any(*text);
    if (!bytes || bytes->size() != field.size) {
        return core::fail(Fault::invalid, "'" + name + "' of the subscription must be " +
                                              std::to_string(field.size) + " bytes in base64url");
    }
    return std::move(*bytes);
}

}  // namespace

std::string to_json(const Subscription& subscription) {
    return core::json_text(json{{"endpoint", subscription.endpoint},
                                {"expirationTime", nullptr},
                                {"keys",
                                 {{"p256dh", core::base64url(subscription.keys.p256dh)},
                                  {"auth", core::base64url(subscription.keys.auth)}}}});
}

core::Result<Subscription> parse_subscription(std::string_view text) {
    const json object = core::parse_json(text);
    if (!object.is_object()) return core::fail(Fault::invalid, "the subscription is not JSON");
    const auto* endpoint = core::find_text(object, "endpoint");
    if (!endpoint) {
        return core::fail(Fault::invalid, "the subscription has no text 'endpoint'");
    }
    Subscription subscription{*endpoint, {}};
    if (auto url = parse_url(subscription.endpoint); !url) return core::fail(url.error());
    const auto* keys = core::find_object(object, "keys");
    if (!keys) return core::fail(Fault::invalid, "the subscription has no object 'keys'");
    auto p256dh = key_of(*keys, {"p256dh", kPointBytes});
    if (!p256dh) return core::fail(p256dh.error());
    auto auth = key_of(*keys, {"auth", kAuthBytes});
    if (!auth) return core::fail(auth.error());
    subscription.keys = {std::move(*p256dh), std::move(*auth)};
    return subscription;
}

}  // namespace beckon::client
