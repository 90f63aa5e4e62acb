#include "console/canary/canary_edges.hpp"

#include "client/url.hpp"
#include "core/authority.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace beckon::console {

namespace {

constexpr std::string_view kAnyHost = "//*";

bool is_for_all(const std::string& pattern) { return pattern.find(kAnyHost) != std::string::npos; }

std::string with_host(const std::string& pattern, std::string_view host) {
    auto url = pattern;
    return url.replace(url.find(kAnyHost) + 2, 1, host);
}

void add(std::vector<std::string>& urls, std::string url) {
    if (std::find(urls.begin(), urls.end(), url) == urls.end()) urls.push_back(std::move(url));
}

bool is_edge(const std::string& text) {
    const auto url = client::parse_url(is_for_all(text) ? with_host(text, "localhost") : text);
    return url && (url->scheme == "ws" || url->scheme == "wss");
}

/// Empty text: it is none.
std::string origin_of(const std::string& text) {
    const auto url = client::parse_url(text);
    const bool http = url && (url->scheme == "http" || url->scheme == "https");
    const bool one_host = url && url->host.find('*') == std::string::npos;
    return http && one_host && url->target == "/" ? url->origin() : std::string{};
}

}  // namespace

CanaryTargets canary_targets(const std::vector<std::string>& configured) {
    CanaryTargets targets;
    for (const auto& text : configured) {
        if (is_edge(text)) {
            targets.edges.push_back(text);
        } else if (auto origin = origin_of(text); !origin.empty() && targets.origin.empty()) {
            targets.origin = std::move(origin);
        } else {
            throw std::runtime_error(
                "'" + text +
                "' is no WebSocket URL: write ws://edge-1:8080/, or ws://*:8080/ for every edge of "
                "the cluster; at most one entry may be the origin to POST to, http://proxy:8082");
        }
    }
    if (targets.edges.empty() && !targets.origin.empty()) {
        throw std::runtime_error("names " + targets.origin +
                                 ", where it POSTs, and no edge: write ws://edge-1:8080/, or "
                                 "ws://*:8080/ for every edge of the cluster");
    }
    return targets;
}

std::string at_origin(const std::string& endpoint, const std::string& origin) {
    const auto url = client::parse_url(endpoint);
    return origin.empty() || !url ? endpoint : origin + url->target;
}

std::vector<std::string> canary_urls(const std::vector<std::string>& patterns,
                                     const std::vector<std::string>& link_addresses) {
    std::vector<std::string> urls;
    for (const auto& pattern : patterns) {
        if (!is_for_all(pattern)) {
            add(urls, pattern);
            continue;
        }
        for (const auto& address : link_addresses) {
            if (const auto split = core::split_authority(address)) {
                add(urls, with_host(pattern, split->host));
            }
        }
    }
    return urls;
}

}  // namespace beckon::console
