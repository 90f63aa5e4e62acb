#pragma once

#include <string>

namespace beckon::core {

/// The member of an object; null if there is none of that name, or `value` is no object.
template <class Json>
const Json* find_member(const Json& value, const char* name) {
    if (!value.is_object()) return nullptr;
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
}

/// The same; null also if the member is no object.
template <class Json>
const Json* find_object(const Json& value, const char* name) {
    const auto* found = find_member(value, name);
    return found && found->is_object() ? found : nullptr;
}

/// The text of a member of an object; null if there is no text of that name.
template <class Json>
const std::string* find_text(const Json& value, const char* name) {
    const auto* found = find_member(value, name);
    return found ? found->template get_ptr<const std::string*>() : nullptr;
}

/// The same as a copy; "" if there is none.
template <class Json>
std::string text_member(const Json& value, const char* name) {
    const auto* found = find_text(value, name);
    return found ? *found : std::string{};
}

}  // namespace beckon::core
