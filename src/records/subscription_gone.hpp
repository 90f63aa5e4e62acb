#pragma once

#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "records/own_event.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The event `beckon.subscription.gone` (docs/webhooks.md#beckons-own-events).
namespace beckon::core {

/// The reason why a subscription has ended.
enum class GoneReason : std::uint8_t {
    unregistered,    ///< its client unregistered it
    client_removed,  ///< its client was removed
    answered_410,    ///< a message for it was refused
};
inline std::string_view to_string(GoneReason reason) { return name_of(reason); }

inline constexpr std::string_view kSubscriptionGoneType = "beckon.subscription.gone";

struct SubscriptionGone {
    Uaid uaid{};
    ChannelId channel{};
    std::string owner;     ///< of the event: owner_name() of the key that it was bound to
    std::string endpoint;  ///< URL
    GoneReason reason = GoneReason::unregistered;
};

/// Its id does not depend on the process that publishes it.
OwnEvent event_of(const SubscriptionGone& gone);

}  // namespace beckon::core
