#pragma once

#include "core/clock.hpp"

#include <string>

namespace beckon::core {

/// "2026-11-20T08:30:00.125Z" (RFC 3339).
std::string time_text(Timestamp time);
/// "2026-11-20T08:30:00Z", as key rings and the record of an installation have it.
std::string time_text_in_seconds(Timestamp time);

}  // namespace beckon::core
