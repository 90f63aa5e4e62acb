#pragma once

#include <algorithm>
#include <string>
#include <string_view>

/// Texts of protocols, whose letters are ASCII whatever the locale. Pure functions, any thread.
namespace beckon::core {

inline std::string lower(std::string_view text) {
    std::string out{text};
    std::transform(out.begin(), out.end(), out.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return out;
}

}  // namespace beckon::core
