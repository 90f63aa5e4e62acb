#pragma once

#include "core/clock.hpp"

#include <string>
#include <string_view>

namespace beckon::core {

/// "2026-11-20T08:30:00.125Z" (RFC 3339).
std::string time_text(Timestamp time);
/// "2026-11-20T08:30:00Z", as key rings and the record of an installation have it.
std::string time_text_in_seconds(Timestamp time);

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 §5.6.7).
std::string http_date(Timestamp time);
/// The host's wall clock now, as above. The text is the thread's, and valid until its next call; it
/// is made once a second.
std::string_view http_date_now();

}  // namespace beckon::core
