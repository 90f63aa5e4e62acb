#pragma once

#include <algorithm>
#include <string_view>

/// Lists in one text, as headers, queries and keys have them. Pure functions, any thread.
namespace beckon::core {

/// Takes the part of a list before the first separator, which goes too, off the list.
inline std::string_view take_part(std::string_view& list, char separator) {
    const auto part = list.substr(0, list.find(separator));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    return part;
}

/// Without the quotes around it, if there are any.
inline std::string_view unquoted(std::string_view text) {
    const bool quoted = text.size() >= 2 && text.starts_with('"') && text.ends_with('"');
    return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace beckon::core
