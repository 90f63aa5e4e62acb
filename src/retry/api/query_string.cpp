#include "retry/api/query_string.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool whole = text[i] == '%' && i + 2 < text.size();
        if (whole && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
            out.push_back(static_cast<char>(16 * digit(text[i + 1]) + digit(text[i + 2])));
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

std::map<std::string, std::string> parse_query(std::string_view target) {
    std::map<std::string, std::string> query;
    const auto begin = target.find('?');
    auto rest = begin == std::string_view::npos ? "" : target.substr(begin + 1);
    while (!rest.empty()) {
        const auto pair = rest.substr(0, rest.find('&'));
        const auto equals = std::min(pair.find('='), pair.size());
        const auto value = pair.substr(std::min(equals + 1, pair.size()));
        if (!pair.empty()) query[percent_decoded(pair.substr(0, equals))] = percent_decoded(value);
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    }
    return query;
}

}  // namespace beckon::retry
