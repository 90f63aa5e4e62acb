#include "net/http/query.hpp"

#include "core/percent.hpp"

#include <algorithm>
#include <utility>

namespace beckon::net {

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
        if (!name.empty())
            pairs.emplace_back(core::percent_decoded(name), core::percent_decoded(value));
    }
    return pairs;
}

std::map<std::string, std::string, std::less<>> query_by_name(std::string_view query) {
    std::map<std::string, std::string, std::less<>> by_name;
    for (auto& [name, value] : parse_query(query)) {
        by_name.emplace(std::move(name), std::move(value));
    }
    return by_name;
}

}  // namespace beckon::net
