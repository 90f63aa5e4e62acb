#include "retry/api/route.hpp"

#include "net/http/http_message.hpp"
#include "retry/api/problem.hpp"

#include <algorithm>
#include <array>

namespace beckon::retry {

using Verb = net::Method;

namespace {

struct Action {
    std::string_view name;
    Route route;
};
constexpr std::array<Action, 5> kActions{{{"enable", Route::enable},
                                          {"disable", Route::disable},
                                          {"secret", Route::secret},
                                          {"test", Route::test},
                                          {"attempts", Route::attempts}}};

}  // namespace

Path parse_path(std::string_view target) {
    constexpr std::string_view kBase = "/webhooks";
    const auto path = net::split_target(target).path;
    if (path == "/events") return {.route = Route::events, .id = {}};
    if (path == net::kApiDocumentPath) return {.route = Route::openapi, .id = {}};
    if (path == "/attempts") return {.route = Route::all_attempts, .id = {}};
    if (path == kBase) return {.route = Route::webhooks, .id = {}};
    if (!path.starts_with("/webhooks/")) return {};
    const auto rest = path.substr(kBase.size() + 1);
    const auto slash = rest.find('/');
    const std::string id{rest.substr(0, slash)};
    if (slash == std::string_view::npos) return {.route = Route::webhook, .id = id};
    const auto* action = std::find_if(kActions.begin(), kActions.end(), [&](const auto& one) {
        return one.name == rest.substr(slash + 1);
    });
    if (action == kActions.end()) return {};
    return {.route = action->route, .id = id};
}

std::vector<Verb> methods_of(Route route) {
    switch (route) {
        case Route::webhooks: return {Verb::get, Verb::post};
        case Route::webhook: return {Verb::get, Verb::patch, Verb::del};
        case Route::enable:
        case Route::disable:
        case Route::secret:
        case Route::test:
        case Route::events: return {Verb::post};
        case Route::attempts:
        case Route::openapi:
        case Route::all_attempts: return {Verb::get};
        case Route::unknown: return {};
    }
    return {};
}

net::HttpReply wrong_method(Route route) {
    std::string allowed;
    for (const auto method : methods_of(route)) {
        allowed.append(allowed.empty() ? "" : ", ").append(to_string(method));
    }
    return wrong_method(allowed);
}

}  // namespace beckon::retry
