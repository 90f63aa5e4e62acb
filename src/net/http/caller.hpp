#pragma once

#include "net/http/http_message.hpp"

#include <cstdint>
#include <string_view>

/// The site that makes a browser ask, for every port that people open in a browser. Pure functions,
/// any thread.
///
/// A port that is open to whoever is on this host is also open to every page that a browser of this
/// host shows, unless it looks at two things. The page of another site can send requests here,
/// which the browser says in `Sec-Fetch-Site` (to a host that it trusts) or in `Origin`. And a site
/// whose name resolves to this host is the same site for the browser, which then even lets it read
/// what it is answered (DNS rebinding): such a request names the site as its host.
namespace beckon::net {

/// Whether a host, with or without a port, is this host by a name that nobody else can have:
/// "localhost" in any case, or a literal loopback address ("127.0.0.1:8085", "[::1]", "::1").
bool names_this_host(std::string_view host);

enum class Hosts : std::uint8_t {
    any,        ///< the port has proofs of its own, or is open to a network: names mean nothing
    this_host,  ///< the port trusts whoever is on this host
};

enum class Caller : std::uint8_t {
    good,
    foreign_host,  ///< asks for a host that is not this one
    foreign_site,  ///< the page of another site made a browser ask
};

/// Judges a request by its host and its origin. A link of another site that a person follows is
/// good: the browser shows the answer to nobody else.
Caller judge_caller(const HttpRequest& request, Hosts hosts);

}  // namespace beckon::net
