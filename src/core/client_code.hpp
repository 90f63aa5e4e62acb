#pragma once

#include "core/record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The number that a client gave with its ack or unregister, as a header of the tombstone that
/// follows (docs/formats/records.md#headers). It is for people and statistics: no fold reads it.
namespace beckon::core {

inline constexpr std::string_view kClientCodeHeader = "ce_code";

inline void add_client_code(Record& tombstone, std::optional<std::uint32_t> code) {
    if (code) tombstone.headers.push_back({kClientCodeHeader, std::to_string(*code)});
}

/// Of a tombstone `expired` whose message the home had sent: whether its client had answered it.
inline constexpr std::string_view kSentHeader = "ce_sent";
inline constexpr std::string_view kSentUnanswered = "unanswered";
inline constexpr std::string_view kSentAcked = "acked";

}  // namespace beckon::core
