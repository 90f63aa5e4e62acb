#pragma once

#include <map>
#include <string>
#include <string_view>

namespace beckon::retry {

/// The parameters behind the `?` of a request's target; of a repeated name the last value counts.
std::map<std::string, std::string> parse_query(std::string_view target);

}  // namespace beckon::retry
