#include "net/http/query.hpp"

#include <algorithm>
#include <charconv>

namespace beckon::net {

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const char* digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out.push_back(static_cast<char>(byte));
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

Target split_target(std::string_view target) {
    const auto path = target.substr(0, target.find('?'));
    return {path, target.substr(std::min(path.size() + 1, target.size()))};
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> pairs;
    while (!query.empty()) {
        const auto pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        const auto name = pair.substr(0, pair.find('='));
        const auto value = pair.substr(std::min(name.size() + 1, pair.size()));
        if (!name.empty()) pairs.emplace_back(percent_decoded(name), percent_decoded(value));
    }
    return pairs;
}

}  // namespace beckon::net
