#pragma once

#include "core/enum_names.hpp"
#include "retry/attempt/http_request.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace beckon::retry {

/// How an attempt at a bridge ended; stands in logs and metric labels.
enum class BridgeOutcome : std::uint8_t {
    accepted,      ///< the bridge has the message
    gone,          ///< the token is no longer registered, or never was a token
    foreign,       ///< the token is of another project, app or environment than our credentials
    refused,       ///< the bridge will never take this message
    throttled,     ///< try again, and not sooner than the bridge asked
    unauthorized,  ///< our credentials are refused
    failed,        ///< any other answer
    timed_out,     ///< no complete answer before the deadline
    unreachable,   ///< no address, no connection, reset, TLS failed
};
inline std::string_view to_string(BridgeOutcome outcome) { return core::name_of(outcome); }

/// The meaning of a bridge's answer for the message (docs/bridges.md#answers). Pure.
struct BridgeVerdict {
    BridgeOutcome outcome = BridgeOutcome::failed;
    std::chrono::seconds not_before{};  ///< from now
    std::string
        why{};  ///< the reason in the bridge's or libcurl's own words; for logs and messages
    bool operator==(const BridgeVerdict&) const = default;
};

/// The least wait where a bridge throttles without naming a time.
inline constexpr std::chrono::seconds kBridgeWaitLeast{60};

/// A bridge's code for a fault, this member of its answer, if it is a plain word; any other text is
/// left out.
std::string word_in(const nlohmann::json& object, const char* name);
BridgeVerdict judge_fcm(const HttpAnswer& answer);
BridgeVerdict judge_apns(const HttpAnswer& answer);

/// True if this answer shows that the bridge works, and finishes the message; a throttled one shows
/// nothing.
bool is_healthy(BridgeOutcome outcome);
bool is_faulty(BridgeOutcome outcome);

}  // namespace beckon::retry
