#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace beckon::console {

/// The step of a push at which the canary failed.
enum class CanaryStep : std::uint8_t {
    subscribe,  ///< connecting and subscribing at the edge
    post,       ///< the POST got no answer: it did not reach the endpoint, or was not made
    accept,     ///< the endpoint answered something else than 201
    receive,    ///< the edge did not deliver it
};

/// With two decimals.
nlohmann::json ms_or_null(const std::optional<core::Duration>& time);

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
        CanaryStep failed_at = CanaryStep::subscribe;  ///< while it fails
    };
    std::vector<Edge> edges;

    std::size_t count(State state) const {
        return static_cast<std::size_t>(std::ranges::count(edges, state, &Edge::state));
    }
};

/// One push of the canary.
struct CanaryPush {
    core::Timestamp at{};
    std::optional<core::Duration> took{};  ///< from the POST until it was received; none: it failed
    std::string why{};                     ///< of a failure
    CanaryStep failed_at = CanaryStep::subscribe;  ///< of a failure
};

/// The results of the last pushes through one edge. A value; bounded.
class CanaryStats {
public:
    static constexpr std::size_t kPushesMax = 360;

    explicit CanaryStats(std::string edge) : edge_(std::move(edge)) {}
    void add(CanaryPush push);

    CanaryFacts::Edge facts() const;

    /// Over the remembered pushes that arrived; nullopt: none has. `part` is 0.5 for the median.
    std::optional<core::Duration> percentile(double part) const;
    /// {"edge", "state": "well" | "failing" | "starting", "p50_ms", "p99_ms", "sent", "failed",
    /// "last_failure", "pushes": [{"at", "ms", "why"}, …]}
    nlohmann::json json() const;

private:
    CanaryFacts::State state() const;

    std::string edge_;
    std::deque<CanaryPush> pushes_;  ///< the newest last
    std::uint64_t sent_ = 0;
    std::uint64_t failed_ = 0;
    std::string last_failure_;
    CanaryStep last_failed_at_ = CanaryStep::subscribe;
};

}  // namespace beckon::console
