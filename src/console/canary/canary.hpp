#pragma once

#include "console/canary/canary_stats.hpp"
#include "console/web/live_pages.hpp"
#include "core/clock.hpp"
#include "ops/metrics.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::console {

/// The edges that the canary tries, and the origin to which it POSTs.
struct CanaryTargets {
    /// WebSocket URLs; with `*` as its host (`ws://*:8080/`) one stands for every edge that the
    /// cluster has.
    std::vector<std::string> edges;
    /// Replaces the origin of endpoint URLs, for a console that cannot reach the public one; empty:
    /// endpoint URLs stay as they are.
    std::string origin;
};
/// The configured edges, by scheme of their URLs. Throws std::runtime_error, naming it, for
/// anything else, and for a second origin.
CanaryTargets canary_targets(const std::vector<std::string>& configured);

/// The endpoint URL at that origin; at its own for an empty one.
std::string at_origin(const std::string& endpoint, const std::string& origin);

/// The URLs that the patterns stand for, each once, in order; `link_addresses` are HOST:PORT, where
/// other edges reach each edge.
std::vector<std::string> canary_urls(const std::vector<std::string>& patterns,
                                     const std::vector<std::string>& link_addresses);

struct CanaryConfig {
    std::vector<std::string> targets;  ///< as canary_targets() has them
    bool insecure = false;             ///< takes any certificate, since ours may be self-made
    std::chrono::milliseconds every{10'000};
    std::chrono::milliseconds timeout{5'000};  ///< of each step of a push
};

/// Subscribes at every edge as a user agent does, pushes to itself as an application server does,
/// and publishes the page "canary": whether push works right now, and how fast. A thread for each
/// edge (`console-canary`).
class Canary {
public:
    /// Further edges are not tried; the page has their number.
    static constexpr std::size_t kEdgesMax = 64;

    /// Throws std::runtime_error like canary_targets(). The others outlive it.
    Canary(const CanaryConfig& config, const core::Clock& clock, LivePages& pages,
           ops::Metrics& metrics);
    /// Waits for the step under way, which is interrupted.
    ~Canary();
    Canary(const Canary&) = delete;
    Canary& operator=(const Canary&) = delete;

    /// The edges that the cluster has now, by the addresses of their links. Does not wait for those
    /// that are gone. One thread.
    void use_edges(const std::vector<std::string>& link_addresses);

    /// The state of each edge; none: no edge is configured. Any thread.
    std::optional<CanaryFacts> facts() const;
    /// The series `beckon_canary_success`, which come and go with the edges, in Prometheus' text
    /// format. Any thread.
    std::string metrics_text() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::console
