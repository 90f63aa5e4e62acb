#pragma once

#include "client/webpush_crypto.hpp"
#include "core/result.hpp"

#include <string>
#include <string_view>

namespace beckon::client {

/// A subscription as a web page gives it to its application server: the endpoint URL and the keys.
struct Subscription {
    std::string endpoint;
    SubscriptionKeys keys;

    bool operator==(const Subscription&) const = default;
};

/// The JSON of `PushSubscription.toJSON()`, which every sender library reads.
std::string to_json(const Subscription& subscription);

/// Parses that JSON; `invalid` names the member that is missing or wrong.
core::Result<Subscription> parse_subscription(std::string_view text);

}  // namespace beckon::client
