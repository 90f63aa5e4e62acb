#pragma once

#include "net/http/http_message.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The routes of the API (schemas/webhooks.openapi.yaml) but for those of dead letters. Any thread.
namespace beckon::retry {

enum class Route : std::uint8_t {
    webhooks,
    webhook,
    enable,
    disable,
    secret,
    test,
    attempts,
    events,
    all_attempts,
    openapi,
    unknown,
};

struct Path {
    Route route = Route::unknown;
    std::string id;  ///< of the webhook
};

Path parse_path(std::string_view target);

std::vector<net::Method> methods_of(Route route);

/// 405, with the allowed methods.
net::HttpReply wrong_method(Route route);

}  // namespace beckon::retry
