#pragma once

#include "retry/attachment/nodes.hpp"

#include <string_view>

namespace beckon::retry {

/// Parses the subset of JMESPath. Throws BrokenExpression.
Pick parse_expression(std::string_view text);

}  // namespace beckon::retry
