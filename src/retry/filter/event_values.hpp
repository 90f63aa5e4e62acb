#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace beckon::retry {

/// One scalar as an index key: strings, numbers and booleans of equal text differ.
std::string term_of(const nlohmann::json& scalar);
/// The scalars at a dotted path of an event; arrays on the way count for each of their elements.
std::vector<const nlohmann::json*> values_at(const nlohmann::json& event, std::string_view path);

}  // namespace beckon::retry
