#pragma once

#include "bridge/message.hpp"

#include <chrono>
#include <cstddef>
#include <string>

/// The payloads for FCM and APNs (docs/bridges.md#payloads). Pure functions, any thread.
namespace beckon::bridge {

/// FCM's data map, or APNs' whole payload; more is refused with 413.
inline constexpr std::size_t kPayloadBytesMax = 4'096;

/// True if the message fits into the limits of its bridge.
bool fits(const BridgedMessage& message);

/// FCM keeps a message at least so long, and no longer than the other.
inline constexpr std::chrono::seconds kFcmTtlLeast{60};
inline constexpr std::chrono::seconds kFcmTtlMost{2'419'200};

/// The body of POST …/messages:send. `left`: the rest of the message's TTL.
std::string fcm_body(const BridgedMessage& message, std::chrono::seconds left);

/// The body of POST /3/device/<token>.
std::string apns_body(const BridgedMessage& message);

}  // namespace beckon::bridge
