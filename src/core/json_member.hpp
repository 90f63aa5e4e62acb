#pragma once

#include <string>

namespace beckon::core {

/// The text of a member of an object; "" where there is none of that name.
template <class Json>
std::string text_member(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->template get<std::string>() : "";
}

}  // namespace beckon::core
