#include "net/http/caller.hpp"

#include "core/ascii.hpp"
#include "core/authority.hpp"
#include "net/peer_address.hpp"

#include <algorithm>

namespace beckon::net {

namespace {

constexpr std::uint8_t kLoopbackNet = 127;  // RFC 1122 §3.2.1.3
constexpr std::size_t kV4At = 12;

bool is_loopback(const PeerAddress& address) {
    if (address.is_v4()) return address.bytes[kV4At] == kLoopbackNet;
    return std::all_of(address.bytes.begin(), address.bytes.end() - 1,
                       [](auto byte) { return byte == 0; }) &&
           address.bytes.back() == 1;
}

/// The Origin of this very port: its pages, over TLS where a proxy does that (RFC 6454 §7).
bool is_own_origin(std::string_view origin, std::string_view authority) {
    const auto given = core::lower(origin);
    const auto own = core::lower(authority);
    return !own.empty() && (given == "http://" + own || given == "https://" + own);
}

/// True if a page of another site sends the request, and not a person who follows its link.
bool is_of_foreign_site(const HttpRequest& request) {
    const auto site = request.headers.get(HeaderName::sec_fetch_site);
    const bool reads = request.method == Method::get;
    if (site) {
        if (*site == "same-origin" || *site == "none") return false;
        return !reads || request.headers.get(HeaderName::sec_fetch_dest) != "document";
    }
    const auto origin = request.headers.get(HeaderName::origin);
    return origin && !is_own_origin(*origin, request.authority);
}

}  // namespace

bool names_this_host(std::string_view host) {
    const auto split = core::split_authority(host);
    if (!split || (split->port && !core::parse_port(*split->port))) return false;
    if (core::lower(split->host) == "localhost") return true;
    const auto address = parse_address(split->host);
    return address && is_loopback(*address);
}

Caller judge_caller(const HttpRequest& request, Hosts hosts) {
    // No browser leaves its host out; health checks of load balancers do, in HTTP/1.0.
    const bool names_none = request.http_1_0 && request.authority.empty();
    if (hosts == Hosts::this_host && !names_none && !names_this_host(request.authority)) {
        return Caller::foreign_host;
    }
    return is_of_foreign_site(request) ? Caller::foreign_site : Caller::good;
}

}  // namespace beckon::net
