#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

template <class Value>
std::string printed_json(const Value& value, int indent) {
    return value.dump(indent, ' ', false, Value::error_handler_t::replace);
}

}  // namespace

std::string json_text(const nlohmann::json& value, int indent) {
    return printed_json(value, indent);
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
    return printed_json(value, indent);
}

nlohmann::json parse_json(std::string_view text) {
    return nlohmann::json::parse(text, nullptr, false);
}

nlohmann::json must_parse_json(std::string_view text) { return nlohmann::json::parse(text); }

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
    return nlohmann::ordered_json::parse(text, nullptr, false);
}

nlohmann::ordered_json must_parse_ordered_json(std::string_view text) {
    return nlohmann::ordered_json::parse(text);
}

}  // namespace beckon::core
