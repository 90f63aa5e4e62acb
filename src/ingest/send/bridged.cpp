#include "ingest/send/bridged.hpp"

#include "bridge/message.hpp"
#include "bridge/payload.hpp"

#include <algorithm>

namespace beckon::ingest {

namespace {

constexpr std::string_view kNoFcm =
    "Messages of this client are not delivered: no bridge to FCM is configured.";
constexpr std::string_view kNoApns =
    "Messages of this client are not delivered: no bridge to APNs is configured.";
constexpr std::string_view kTooLarge = "The message is larger than the client's bridge allows.";

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

Checked<void> check_bridge(core::RouterType type, const ServiceConfig& config) {
    switch (type) {
        case core::RouterType::fcm:
            if (!config.bridges.fcm) return fail(Problem::not_bridged, kNoFcm);
            return {};
        case core::RouterType::apns:
            if (!config.bridges.apns) return fail(Problem::not_bridged, kNoApns);
            return {};
        case core::RouterType::webpush:
        case core::RouterType::webhook: break;
    }
    return fail(Problem::not_bridged);
}

Checked<void> check_app(const bridge::Recipient& to, const ServiceConfig& config) {
    if (to.type == core::RouterType::fcm) {
        if (!contains(config.fcm_app_ids, to.app)) return fail(Problem::unknown_app_id);
    } else if (!contains(config.apns_channels, to.app)) {
        return fail(Problem::unknown_channel);
    }
    return {};
}

}  // namespace

Checked<core::Record> bridged_record(const core::NotificationAccepted& event, core::RouterType type,
                                     std::string_view router_data, const ServiceConfig& config) {
    if (const auto served = check_bridge(type, config); !served) return fail(served.error());
    auto to = bridge::recipient_of(type, router_data);
    if (!to) return fail(Problem::no_such_subscription);
    if (const auto known = check_app(*to, config); !known) return fail(known.error());
    const auto message = bridge::bridged_message(event, std::move(*to));
    if (!bridge::fits(message)) return fail(Problem::body_too_large, kTooLarge);
    return bridge::encode(message);
}

}  // namespace beckon::ingest
