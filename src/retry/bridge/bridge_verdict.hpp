#pragma once

#include "retry/attempt/http_sender.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace beckon::retry {

/// How an attempt at a bridge ended; stands in logs and metric labels.
enum class BridgeOutcome : std::uint8_t {
    accepted,      ///< the bridge has the message
    gone,          ///< nobody is behind this token any more, or it never was one
    foreign,       ///< the token is of another project, app or environment than our credentials
    refused,       ///< the bridge will never take this message
    throttled,     ///< later, and not sooner than asked for
    unauthorized,  ///< our credentials are refused
    failed,        ///< any other answer
    timed_out,     ///< no complete answer before the deadline
    unreachable,   ///< no address, no connection, reset, TLS failed
};
inline constexpr std::array kBridgeOutcomes{
    BridgeOutcome::accepted, BridgeOutcome::gone,      BridgeOutcome::foreign,
    BridgeOutcome::refused,  BridgeOutcome::throttled, BridgeOutcome::unauthorized,
    BridgeOutcome::failed,   BridgeOutcome::timed_out, BridgeOutcome::unreachable};
std::string_view to_string(BridgeOutcome outcome);

/// What an answer of a bridge means for the message (docs/bridges.md#answers). Pure.
struct BridgeVerdict {
    BridgeOutcome outcome = BridgeOutcome::failed;
    std::chrono::seconds not_before{};  ///< from now
    std::string why{};  ///< the bridge's own word for it, or libcurl's; for logs and messages
    bool operator==(const BridgeVerdict&) const = default;
};

/// Where a bridge says "later" without saying when.
inline constexpr std::chrono::seconds kBridgeWaitLeast{60};

BridgeVerdict judge_fcm(const HttpAnswer& answer);
BridgeVerdict judge_apns(const HttpAnswer& answer);

/// Whether the message is finished with this.
bool is_final(BridgeOutcome outcome);
/// Whether the bridge works as far as this answer shows; nothing is known from a throttled one.
bool is_healthy(BridgeOutcome outcome);
bool is_faulty(BridgeOutcome outcome);

}  // namespace beckon::retry
