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

}  // namespace beckon::core
