#pragma once

#include <string>

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

}  // namespace beckon::core
