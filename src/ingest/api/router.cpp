#include "ingest/api/router.hpp"

#include "core/ascii.hpp"
#include "core/list_text.hpp"

#include <optional>

namespace beckon::ingest {

namespace {

constexpr std::size_t kSegmentsMax = 8;

/// The segments of a path; none may be empty.
struct Path {
    std::array<std::string_view, kSegmentsMax> segments{};
    std::size_t count = 0;

    std::string_view operator[](std::size_t i) const { return segments[i]; }
};

std::optional<Path> split(std::string_view target) {
    if (!target.starts_with('/')) return std::nullopt;
    Path path;
    while (!target.empty()) {
        target.remove_prefix(1);
        const auto segment = target.substr(0, target.find('/'));
        if (segment.empty() || path.count == kSegmentsMax) return std::nullopt;
        path.segments[path.count++] = segment;
        target.remove_prefix(segment.size());
    }
    return path;
}

Route send_route(const Path& path) {
    Route route{RouteName::send, true, "POST", {}, core::Tokens::Form::any, true};
    if (path.count == 2) {
        route.arguments[0] = path[1];
        return route;
    }
    route.arguments[0] = path[2];
    if (path[1] == "v1") {
        route.form = core::Tokens::Form::v1;
    } else if (path[1] == "v2") {
        route.form = core::Tokens::Form::v2;
    } else {
        route.known_version = false;
    }
    return route;
}

std::optional<Route> registration_route(const Path& path) {
    Route route;
    route.arguments = {path[1], path[2], path[4], path[6]};
    switch (path.count) {
        case 4:
            route.name = RouteName::registrations;
            route.allow = "POST";
            return route;
        case 5:
            route.name = RouteName::registration;
            route.allow = "DELETE, GET, PUT";
            return route;
        case 6:
        case 7:
            if (path[5] != "subscription") return std::nullopt;
            route.name = path.count == 6 ? RouteName::subscriptions : RouteName::subscription;
            route.allow = path.count == 6 ? "POST" : "DELETE";
            return route;
        default: return std::nullopt;
    }
}

struct FixedRoute {
    std::string_view path;
    RouteName name;
    std::string_view allow = "GET";
};
constexpr FixedRoute kFixedRoutes[] = {
    {"/status", RouteName::status},
    {"/health", RouteName::health},
    {"/__heartbeat__", RouteName::heartbeat},
    {"/__lbheartbeat__", RouteName::lb_heartbeat},
    {"/__version__", RouteName::version},
    {"/errors", RouteName::errors},
    {"/openapi.yaml", RouteName::openapi},
    {"/__milestones__", RouteName::milestones},
    {"/metrics", RouteName::milestone_metrics},
    {"/__error__", RouteName::deliberate_error},
    {"/v1/err", RouteName::deliberate_error},
    {"/_matrix/push/v1/notify", RouteName::matrix, "GET, POST"},
};

std::optional<Route> match(const Path& path) {
    if ((path.count == 2 || path.count == 3) && path[0] == "wpush") return send_route(path);
    if (path.count == 2 && path[0] == "m") {
        return Route{RouteName::message, true, "DELETE", {path[1]}, {}, true};
    }
    if (path.count == 2 && path[0] == "r") {
        return Route{RouteName::receipt, true, "GET", {path[1]}, {}, true};
    }
    if (path.count >= 4 && path[0] == "v1" && path[3] == "registration") {
        return registration_route(path);
    }
    return std::nullopt;
}

/// True if `allow` ("DELETE, GET, PUT") names the method.
bool allows(std::string_view allow, Method method) {
    const auto name = to_string(method);
    while (!allow.empty()) {
        if (core::trimmed(core::take_part(allow, ',')) == name) return true;
    }
    return false;
}

bool is_registration(RouteName name) {
    return name == RouteName::registrations || name == RouteName::registration ||
           name == RouteName::subscriptions || name == RouteName::subscription;
}

/// Exactly this path; of registrations, also with the slash at its end that the documents of
/// autopush write.
Route route_of(std::string_view target) {
    target = target.substr(0, target.find_first_of("?#"));
    for (const auto& fixed : kFixedRoutes) {
        if (target == fixed.path) return Route{fixed.name, true, fixed.allow, {}, {}, true};
    }
    const auto matched = [](std::string_view path) {
        const auto segments = split(path);
        return segments ? match(*segments).value_or(Route{}) : Route{};
    };
    if (!target.ends_with('/')) return matched(target);
    const auto route = matched(target.substr(0, target.size() - 1));
    return is_registration(route.name) ? route : Route{};
}

}  // namespace

Route find_route(Method method, std::string_view target) {
    auto route = route_of(target);
    if (route.name != RouteName::unknown) route.method_allowed = allows(route.allow, method);
    return route;
}

}  // namespace beckon::ingest
