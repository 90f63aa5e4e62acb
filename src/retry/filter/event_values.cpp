#include "retry/filter/event_values.hpp"

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Json = nlohmann::json;

namespace {

void collect(const Json& at, std::string_view rest, std::vector<const Json*>& found) {
    if (at.is_array()) {
        for (const auto& one : at) collect(one, rest, found);
        return;
    }
    if (rest.empty()) {
        if (!at.is_null() && !at.is_object()) found.push_back(&at);
        return;
    }
    if (!at.is_object()) return;
    // A name may have dots itself: the whole rest first, then what stands before each dot.
    for (auto end = rest.size();; end = rest.rfind('.', end - 1)) {
        if (end == std::string_view::npos) return;
        const auto found_at = at.find(std::string{rest.substr(0, end)});
        if (found_at != at.end()) {
            collect(*found_at, end == rest.size() ? "" : rest.substr(end + 1), found);
        }
        if (end == 0) return;
    }
}

}  // namespace

std::string term_of(const Json& scalar) {
    // Equal numbers have one key, whether they are written 1 or 1.0.
    if (scalar.is_number()) return "n" + Json(scalar.get<double>()).dump();
    if (scalar.is_boolean()) return scalar.get<bool>() ? "b1" : "b0";
    return scalar.is_string() ? "s" + scalar.get<std::string>() : "x";
}

std::vector<const Json*> values_at(const Json& event, std::string_view path) {
    std::vector<const Json*> found;
    collect(event, path, found);
    return found;
}

}  // namespace beckon::retry
