#pragma once

#include "app/config/setting.hpp"

#include <string>
#include <string_view>

namespace beckon::app {

/// The one text of an origin (RFC 6454 section 6.1): lower case, without a slash at its end and
/// without its scheme's own port. Errors (invalid) name the fault: no http or https URL, a path, a
/// query, a name outside of ASCII (DNS and senders have its xn-- form), an address that cannot be
/// connected to.
core::Result<std::string> normalized_origin(std::string_view text);

/// An origin as `https://push.example.org`, kept as normalized_origin() has it; empty: none.
Setting origin_setting(std::string name, std::string& target, std::string help);

}  // namespace beckon::app
