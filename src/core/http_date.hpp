#pragma once

#include "core/clock.hpp"

#include <string>
#include <string_view>

namespace beckon::core {

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 §5.6.7).
std::string http_date(Timestamp time);

/// The host's wall clock now, as above. The text is the thread's, and valid until its next call; it
/// is made once a second.
std::string_view http_date_now();

}  // namespace beckon::core
