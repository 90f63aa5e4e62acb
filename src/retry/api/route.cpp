#include "retry/api/route.hpp"

#include <array>

namespace beckon::retry {

namespace {

struct Row {
    std::string_view pattern;  ///< `*` stands for an id
    Route route;
    std::string_view methods;
};
/// The first one that fits counts.
constexpr std::array kRows{
    Row{"/events", Route::events, "POST"},
    Row{"/attempts", Route::all_attempts, "GET"},
    Row{"/webhooks", Route::webhooks, "GET, POST"},
    Row{"/webhooks/*", Route::webhook, "GET, PATCH, DELETE"},
    Row{"/webhooks/*/enable", Route::enable, "POST"},
    Row{"/webhooks/*/disable", Route::disable, "POST"},
    Row{"/webhooks/*/secret", Route::secret, "POST"},
    Row{"/webhooks/*/test", Route::test, "POST"},
    Row{"/webhooks/*/attempts", Route::attempts, "GET"},
    Row{"/dead", Route::dead_letters, "GET"},
    Row{"/dead/redrive", Route::redrive, "POST"},
    Row{"/dead/drop", Route::drop, "POST"},
    Row{"/dead/*", Route::dead_letter, "GET"},
    Row{net::kApiDocumentPath, Route::openapi, "GET"},
};

}  // namespace

bool Path::allows(net::Method method) const {
    return methods.find(to_string(method)) != std::string_view::npos;
}

Path parse_path(std::string_view target) {
    const auto path = net::split_target(target).path;
    for (const auto& [pattern, route, methods] : kRows) {
        const auto star = pattern.find('*');
        if (path == pattern && star == std::string_view::npos) return {route, "", methods};
        if (star == std::string_view::npos || !path.starts_with(pattern.substr(0, star))) continue;
        const auto rest = path.substr(star);
        const auto id = rest.substr(0, rest.find('/'));
        if (rest.substr(id.size()) == pattern.substr(star + 1)) {
            return {route, std::string{id}, methods};
        }
    }
    return {};
}

}  // namespace beckon::retry
