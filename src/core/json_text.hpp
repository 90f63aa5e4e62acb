#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace beckon::core {

/// JSON as text; bytes of its strings that are not UTF-8 become U+FFFD. This is the only place that
/// prints JSON (tests/layers): the library's default throws at such bytes, and a sender could then
/// cause an exception at will. Any thread.
///
/// `indent`: blanks for each level, for people; below zero: one line. Printing takes stack for each
/// level of nesting; JSON from other processes was parsed with a bounded depth (json_depth.hpp).
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// The JSON in `text`; discarded (`is_discarded()`) where it is none. These functions are the only
/// place that parses JSON (tests/layers): each source with a parser of its own takes two seconds
/// longer to compile. The depth of text from other processes is checked first (json_depth.hpp). Any
/// thread.
nlohmann::json parse_json(std::string_view text);
/// Parses text that must be JSON, for example text that Beckon has printed. Throws
/// nlohmann::json::parse_error, which names the position of the fault.
nlohmann::json must_parse_json(std::string_view text);
/// As the two above, but the members of objects keep the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text);
nlohmann::ordered_json must_parse_ordered_json(std::string_view text);

}  // namespace beckon::core
