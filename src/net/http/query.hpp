#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Targets of requests, taken apart. Pure functions, any thread.
namespace beckon::net {

/// A target's path, as it was sent, and the query behind its '?'.
struct Target {
    std::string_view path;
    std::string_view query;
};
Target split_target(std::string_view target);

/// "a=1&b=%32": names and values, decoded, in their order; without those that have no name.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);
/// The same by name, for pages that people open: of a repeated name the first value counts.
std::map<std::string, std::string, std::less<>> query_by_name(std::string_view query);

}  // namespace beckon::net
