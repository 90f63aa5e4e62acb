#pragma once

#include <cstddef>
#include <string_view>

namespace beckon::core {

/// Whether JSON text has more than `depth_max` arrays and objects within each other. Brackets
/// inside strings do not count. Check text from other processes before parsing it: printing and
/// walking a value take stack for each level. Text that is no JSON gets either answer. Pure, any
/// thread.
constexpr bool is_nested_deeper(std::string_view text, std::size_t depth_max) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
            continue;
        }
        if (c == '"') in_string = true;
        if ((c == '{' || c == '[') && ++depth > depth_max) return true;
        if ((c == '}' || c == ']') && depth > 0) --depth;
    }
    return false;
}

}  // namespace beckon::core
