#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace beckon::test {

/// Validates against the part of JSON Schema (2020-12) that the files in schemas/ use. A keyword
/// that it does not know is a fault, so that no schema can ask for more than is checked.
/// nullopt if `value` fits, else where and why not.
inline std::optional<std::string> schema_fault(const nlohmann::json& schema,
                                               const nlohmann::json& value,
                                               const std::string& at = "$");

namespace schema {

using Json = nlohmann::json;

inline bool is_annotation(std::string_view keyword) {
    constexpr std::array kAnnotations{"$schema",         "$defs",   "title",  "description",
                                      "contentEncoding", "x-event", "default"};
    return std::find(kAnnotations.begin(), kAnnotations.end(), keyword) != kAnnotations.end();
}

inline bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    throw std::invalid_argument("type " + type + " is not in the subset");
}

inline std::optional<std::string> text_fault(std::string_view keyword, const Json& rule,
                                             const Json& value) {
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    if (keyword == "pattern" && !std::regex_search(text, std::regex{rule.get<std::string>()})) {
        return "does not match " + rule.get<std::string>();
    }
    if (keyword == "minLength" && text.size() < rule.get<std::size_t>()) return "is too short";
    return std::nullopt;
}

inline std::optional<std::string> members_fault(const Json& schema, const Json& value,
                                                const std::string& at) {
    const Json none = Json::object();
    const auto properties = schema.find("properties");
    const Json& known = properties == schema.end() ? none : *properties;
    for (const auto& item : value.items()) {
        const auto rule = known.find(item.key());
        if (rule != known.end()) {
            if (auto fault = schema_fault(*rule, item.value(), at + "." + item.key())) return fault;
        } else if (schema.value("additionalProperties", true) == false) {
            return at + "." + item.key() + " is not described";
        }
    }
    return std::nullopt;
}

inline std::optional<std::string> required_fault(const Json& names, const Json& value,
                                                 const std::string& at) {
    for (const auto& name : names) {
        if (!value.contains(name.get<std::string>())) {
            return at + " lacks " + name.get<std::string>();
        }
    }
    return std::nullopt;
}

inline std::optional<std::string> one_of_fault(const Json& choices, const Json& value,
                                               const std::string& at) {
    std::size_t fitting = 0;
    std::string why;
    for (const auto& choice : choices) {
        const auto fault = schema_fault(choice, value, at);
        if (!fault) ++fitting;
        if (fault) why += "; " + *fault;
    }
    if (fitting == 1) return std::nullopt;
    return at + " fits " + std::to_string(fitting) + " of oneOf" + why;
}

}  // namespace schema

inline std::optional<std::string> schema_fault(const nlohmann::json& schema,
                                               const nlohmann::json& value, const std::string& at) {
    for (const auto& [keyword, rule] : schema.items()) {
        std::optional<std::string> fault;
        if (schema::is_annotation(keyword)) {
            continue;
        } else if (keyword == "type") {
            if (!schema::has_type(value, rule)) fault = at + " is not " + rule.get<std::string>();
        } else if (keyword == "const") {
            if (value != rule) fault = at + " is not " + rule.dump();
        } else if (keyword == "enum") {
            const bool found = std::find(rule.begin(), rule.end(), value) != rule.end();
            if (!found) fault = at + " is none of " + rule.dump();
        } else if (keyword == "pattern" || keyword == "minLength") {
            fault = schema::text_fault(keyword, rule, value);
            if (fault) fault = at + " " + *fault;
        } else if (keyword == "minimum") {
            if (value.is_number() && value < rule) fault = at + " is below " + rule.dump();
        } else if (keyword == "maximum") {
            if (value.is_number() && value > rule) fault = at + " is above " + rule.dump();
        } else if (keyword == "required") {
            if (value.is_object()) fault = schema::required_fault(rule, value, at);
        } else if (keyword == "properties") {
            if (value.is_object()) fault = schema::members_fault(schema, value, at);
        } else if (keyword == "additionalProperties") {
            continue;  // with `properties`
        } else if (keyword == "items") {
            for (const auto& item : value.is_array() ? value : nlohmann::json::array()) {
                if (!fault) fault = schema_fault(rule, item, at + "[]");
            }
        } else if (keyword == "oneOf") {
            fault = schema::one_of_fault(rule, value, at);
        } else {
            fault = at + ": keyword " + keyword + " is not in the subset";
        }
        if (fault) return fault;
    }
    return std::nullopt;
}

}  // namespace beckon::test
