#include "core/media_type.hpp"

#include "core/ascii.hpp"
#include "core/list_text.hpp"

#include <algorithm>

namespace beckon::core {

namespace {

/// Up to the next semicolon outside of quotes, which is taken away with it.
std::string_view take_parameter(std::string_view& rest) {
    bool quoted = false;
    std::size_t end = 0;
    for (; end < rest.size() && (quoted || rest[end] != ';'); ++end) {
        if (rest[end] == '"') quoted = !quoted;
        if (rest[end] == '\\' && quoted) ++end;
    }
    end = std::min(end, rest.size());
    const auto parameter = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return trimmed(parameter);
}

}  // namespace

bool MediaType::is_json() const { return type.ends_with("/json") || type.ends_with("+json"); }

bool MediaType::is_utf8() const {
    return charset.empty() || charset == "utf-8" || charset == "utf8" || charset == "us-ascii";
}

MediaType parse_media_type(std::string_view content_type) {
    MediaType out{.type = lower(take_parameter(content_type)), .charset = {}};
    while (!content_type.empty()) {
        const auto parameter = take_parameter(content_type);
        const auto equals = parameter.find('=');
        if (equals == std::string_view::npos) continue;
        if (lower(trimmed(parameter.substr(0, equals))) != "charset") continue;
        out.charset = lower(unquoted(trimmed(parameter.substr(equals + 1))));
    }
    return out;
}

}  // namespace beckon::core
