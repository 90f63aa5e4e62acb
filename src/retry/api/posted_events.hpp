#pragma once

#include "core/result.hpp"
#include "retry/api/api_request.hpp"
#include "retry/api/problem.hpp"
#include "retry/event/event.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// The body of a POST to /events. Pure, any thread.
namespace beckon::retry {

inline constexpr std::size_t kBatchEventsMax = 1'000;

/// Why a request, or an event of a batch, is not taken.
struct Refusal {
    Problem problem{};
    std::string detail;
};

/// What was posted, parsed and checked, without a look at who has posted it.
struct PostedEvents {
    std::optional<Refusal> refusal{};  ///< of the whole request
    bool is_batch = false;
    /// Those of a batch, or the one event; an event with a fault has its error in its place.
    std::vector<core::Result<Event>> events{};
    /// The one event as JSON, if its query asks for something: its filters are matched at once.
    std::shared_ptr<nlohmann::json> json{};

    /// About the memory that it holds.
    std::size_t memory_bytes() const;
};

/// It takes some 20 ms at most, for 256 KiB.
PostedEvents parse_posted(const ApiRequest& request);

/// Whether parse_posted() of it would take a thread longer than others should wait for.
bool takes_long_to_parse(const ApiRequest& request);

}  // namespace beckon::retry
