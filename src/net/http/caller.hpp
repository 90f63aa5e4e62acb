#pragma once

#include "net/http/http_message.hpp"

#include <cstdint>
#include <string_view>

/// Checks the site that makes a browser send a request, for every port that people open in a
/// browser. Pure functions, any thread.
///
/// A port that trusts every process of this host is also open to every page that a browser of this
/// host shows, unless it checks two headers. The page of another site can send requests here; the
/// browser reports that in `Sec-Fetch-Site` (to a host that it trusts) or in `Origin`. For a site
/// whose name resolves to this host, the browser takes both for one site and lets the page read the
/// answers (DNS rebinding): such a request names that site in `Host`.
namespace beckon::net {

/// True if a host, with or without a port, is this host by a name that no other host can have:
/// "localhost" in any case, or a literal loopback address ("127.0.0.1:8085", "[::1]", "::1").
bool names_this_host(std::string_view host);

enum class Hosts : std::uint8_t {
    any,        ///< the port has proofs of its own, or is open to a network: names mean nothing
    this_host,  ///< the port trusts every process of this host
};

enum class Caller : std::uint8_t {
    good,
    foreign_host,  ///< the request names another host
    foreign_site,  ///< a page of another site made the browser send it
};

/// Judges a request by its host and its origin. A link of another site that a person follows is
/// good: no page can read the answer.
Caller judge_caller(const HttpRequest& request, Hosts hosts);

}  // namespace beckon::net
