#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace beckon::core {

/// No message waits longer, even if its record says so.
inline constexpr std::chrono::hours kTtlMax{24 * 366};

/// When a message that was appended then expires: for all who ask, the same moment.
inline Timestamp expiry_of(Timestamp appended, std::uint32_t ttl_s) {
    return appended + std::min<std::chrono::seconds>(std::chrono::seconds{ttl_s}, kTtlMax);
}

}  // namespace beckon::core
