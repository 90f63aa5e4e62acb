#include "retry/api/query_string.hpp"

#include "net/http/query.hpp"

#include <utility>

namespace beckon::retry {

std::map<std::string, std::string> parse_query(std::string_view target) {
    std::map<std::string, std::string> query;
    for (auto& [name, value] : net::parse_query(net::split_target(target).query)) {
        query[name] = std::move(value);
    }
    return query;
}

}  // namespace beckon::retry
