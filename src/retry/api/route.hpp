#pragma once

#include "net/http/http_message.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The routes of the API (schemas/webhooks.openapi.yaml). Any thread.
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
    dead_letters,
    dead_letter,
    redrive,
    drop,
    unknown,
};

struct Path {
    Route route = Route::unknown;
    std::string id{};            ///< of the webhook or the dead letter
    std::string_view methods{};  ///< that are allowed, as the header Allow has them
    bool allows(net::Method method) const;
    bool of_dead_letters() const { return route >= Route::dead_letters && route <= Route::drop; }
};

Path parse_path(std::string_view target);

}  // namespace beckon::retry
