#include "console/canary/canary_edges.hpp"

#include "client/url.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

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

}  // namespace

void check_canary_pattern(const std::string& pattern) {
    const auto url =
        client::parse_url(is_for_all(pattern) ? with_host(pattern, "localhost") : pattern);
    if (url && (url->scheme == "ws" || url->scheme == "wss")) return;
    throw std::runtime_error("console.canary: '" + pattern +
                             "' is no WebSocket URL such as ws://edge-1:8080/, or ws://*:8080/ for "
                             "every edge of the cluster");
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
            const auto host = std::string_view{address}.substr(0, address.rfind(':'));
            if (!host.empty()) add(urls, with_host(pattern, host));
        }
    }
    return urls;
}

}  // namespace beckon::console
