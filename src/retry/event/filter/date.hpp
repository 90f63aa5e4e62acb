#pragma once

#include "core/clock.hpp"

#include <optional>
#include <string_view>

namespace beckon::retry {

/// `2026-11-20`, `2026-11-20T08:30:00Z`, `2026-11-20T08:30:00.125+01:00`: a day, or RFC 3339 with
/// `T`, which may be `t`, as `Z` may be `z` (RFC 3339 §5.6). Without an offset it is UTC. nullopt
/// for anything else.
std::optional<core::Timestamp> parse_date(std::string_view text);

}  // namespace beckon::retry
