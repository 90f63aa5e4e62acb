#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace beckon::core {

/// JSON as text, whatever bytes stand in its strings: those that are no UTF-8 become U+FFFD. This
/// is the only place that prints JSON (tests/layers), since the library's own default throws at
/// such a string, and whoever sent it would choose when. Any thread.
///
/// `indent`: blanks for each level, for people; below zero: one line. What was parsed of foreign
/// bytes has a bounded depth already (json_depth.hpp): printing takes stack for each level.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// The JSON in `text`; discarded (`is_discarded()`) where it is none. These functions are the only
/// place that parses JSON (tests/layers): each source with a parser of its own takes two seconds
/// longer to compile. Text of others needs a bound on its depth first (json_depth.hpp). Any thread.
nlohmann::json parse_json(std::string_view text);
/// The same for text that must be JSON, for example text that Beckon has printed. Throws
/// nlohmann::json::parse_error, which names the place.
nlohmann::json must_parse_json(std::string_view text);
/// The same, with the members of objects in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text);
nlohmann::ordered_json must_parse_ordered_json(std::string_view text);

}  // namespace beckon::core
