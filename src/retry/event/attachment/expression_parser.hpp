#pragma once

#include "core/result.hpp"
#include "retry/event/attachment/nodes.hpp"

#include <string_view>

namespace beckon::retry {

/// Parses a JSON Pointer, or the subset of JMESPath. Errors: invalid (at which byte, and why).
core::Result<Pick> parse_expression(std::string_view text);

}  // namespace beckon::retry
