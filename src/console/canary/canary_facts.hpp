#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beckon::console {

/// The canary's results at each edge. A value.
struct CanaryFacts {
    enum class State : std::uint8_t { starting, well, failing };
    struct Edge {
        std::string edge;
        State state = State::starting;
        std::optional<core::Duration> took = std::nullopt;  ///< its last push, if that arrived
        std::optional<core::Duration> p50 = std::nullopt;
        std::optional<core::Duration> p99 = std::nullopt;
        std::string why = {};
    };
    std::vector<Edge> edges;
};

}  // namespace beckon::console
