#pragma once

#include "cli/config/setting.hpp"

#include <string>
#include <string_view>

namespace beckon::cli {

/// Scheme, host and perhaps port, as `https://push.example.org`: a slash at its end and its
/// scheme's own port are left out.
Setting origin_setting(std::string name, std::string& target, std::string help);

/// 0.0.0.0 and ::, which one can listen on and nobody can connect to.
bool is_any_address(std::string_view host);

}  // namespace beckon::cli
