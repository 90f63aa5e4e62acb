#pragma once

#include "core/result.hpp"
#include "retry/api/api_request.hpp"
#include "retry/api/problem.hpp"
#include "retry/event/event.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// The body of a POST to /events. Pure.
namespace beckon::retry {

inline constexpr std::size_t kBatchEventsMax = 1'000;

/// Why a request, or an event of a batch, is not taken.
struct Refusal {
    Problem problem{};
    std::string detail;
};

/// The events of a request, parsed and checked, without a look at who has posted it.
struct PostedEvents {
    std::optional<Refusal> refusal{};  ///< of the whole request
    bool is_batch = false;
    /// Those of a batch, or the one event; an event with a fault has its error in its place.
    std::vector<core::Result<Event>> events{};
};

PostedEvents parse_posted(const ApiRequest& request);

}  // namespace beckon::retry
