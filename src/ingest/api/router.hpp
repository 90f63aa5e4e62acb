#pragma once

#include "core/enum_names.hpp"
#include "core/tokens.hpp"
#include "ingest/api/http.hpp"

#include <array>
#include <string_view>

namespace beckon::ingest {

/// The routes of docs/protocol/http-api.md#routes. Also the label of request metrics.
enum class RouteName : std::uint8_t {
    send,           ///< POST /wpush[/v1|/v2]/{token}
    message,        ///< DELETE /m/{message_id}
    receipt,        ///< GET /r/{token}
    matrix,         ///< POST, GET /_matrix/push/v1/notify: where the gateway is on
    openapi,        ///< GET /openapi.yaml
    registrations,  ///< POST /v1/{type}/{app}/registration
    registration,   ///< PUT, GET, DELETE …/registration/{uaid}
    subscriptions,  ///< POST …/registration/{uaid}/subscription
    subscription,   ///< DELETE …/registration/{uaid}/subscription/{chid}
    status,
    health,
    heartbeat,
    lb_heartbeat,
    version,
    errors,
    milestones,         ///< GET /__milestones__: counts as JSON, or as `Accept` asks
    milestone_metrics,  ///< GET /metrics: the same counts, OpenMetrics
    deliberate_error,
    preflight,  ///< OPTIONS with Access-Control-Request-Method, any path
    unknown,
};
inline std::string_view to_string(RouteName name) { return core::name_of(name); }

struct Route {
    RouteName name = RouteName::unknown;
    bool method_allowed = true;
    std::string_view allow;  ///< the path's methods, for 405
    /// Path segments with a meaning, in the order of the table above; empty ones do not match.
    std::array<std::string_view, 4> arguments{};
    core::Tokens::Form form = core::Tokens::Form::any;
    bool known_version = true;  ///< of `send`
};

/// Path matching is exact, segments are taken as they stand; only paths of registrations may end
/// with a slash more. The query is ignored.
Route find_route(Method method, std::string_view target);

}  // namespace beckon::ingest
