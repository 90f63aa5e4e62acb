#pragma once

#include <string>
#include <vector>

/// Which edges the canary tries. Pure functions.
namespace beckon::console {

/// A pattern is a WebSocket URL; with `*` as its host (`ws://*:8080/`) it stands for every edge
/// that the cluster has. Throws std::runtime_error, naming it, for anything else.
void check_canary_pattern(const std::string& pattern);

/// The URLs that the patterns stand for, each once, in order; `link_addresses` are HOST:PORT, where
/// other edges reach each edge.
std::vector<std::string> canary_urls(const std::vector<std::string>& patterns,
                                     const std::vector<std::string>& link_addresses);

}  // namespace beckon::console
