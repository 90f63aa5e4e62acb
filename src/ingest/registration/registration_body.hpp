#pragma once

#include "core/ids.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"
#include "records/events.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::ingest {

/// The parsed JSON of a registration call, its form checked.
struct RegistrationBody {
    std::string token;
    std::optional<core::ChannelId> channel;
    std::optional<std::string> key;  ///< decoded bytes
    std::optional<std::string> aps;
};

/// Parses the body of POST and PUT of a registration. Failures: bad_json, json_too_large,
/// body_too_large.
Checked<RegistrationBody> parse_registration(const HttpRequest& request);
/// Parses the body of POST of a subscription: one that is no JSON object counts as {}.
Checked<RegistrationBody> parse_subscription(const HttpRequest& request);

/// The application ids and release channels that the bridges are configured for.
struct BridgeNames {
    const std::vector<std::string>& fcm_app_ids;
    const std::vector<std::string>& apns_channels;
};
/// Router data as JSON text, after the checks of the bridge.
Checked<std::string> router_data(core::RouterType type, std::string_view app_id,
                                 const RegistrationBody& body, const BridgeNames& names);

}  // namespace beckon::ingest
