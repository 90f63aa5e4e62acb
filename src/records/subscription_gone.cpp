#include "records/subscription_gone.hpp"

#include "records/sender_rule.hpp"

#include <algorithm>

namespace beckon::core {

namespace {

constexpr const char* kSubscriptionsSource = "/beckon/subscriptions";

/// Stands for a subscription where its UAID must not be seen.
std::string gone_name_of(const SubscriptionGone& gone) {
    const auto digest = subscription_hash(gone.uaid, gone.channel);
    Bytes16 half;
    std::copy_n(digest.begin(), half.size(), half.begin());
    return to_hex(half);
}

}  // namespace

OwnEvent event_of(const SubscriptionGone& gone) {
    const auto name = gone_name_of(gone);
    return {.id = name + "/gone",
            .source = kSubscriptionsSource,
            .type = std::string{kSubscriptionGoneType},
            .subject = name,
            .owner = gone.owner,
            .data = {{"endpoint", gone.endpoint}, {"reason", std::string{to_string(gone.reason)}}}};
}

}  // namespace beckon::core
