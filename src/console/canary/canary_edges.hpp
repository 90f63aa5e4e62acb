#pragma once

#include <string>
#include <vector>

/// The edges that the canary tries, and the origin to which it POSTs. Pure functions.
namespace beckon::console {

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

}  // namespace beckon::console
