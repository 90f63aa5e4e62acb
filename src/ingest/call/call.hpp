#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "ingest/api/http.hpp"
#include "ingest/api/router.hpp"
#include "net/peer_address.hpp"

#include <memory>
#include <optional>

namespace beckon::ingest {

/// One request on its way to its reply, with the parts that finish it.
struct Call {
    ExchangePtr exchange;
    Route route;
    net::PeerAddress peer;  ///< behind trusted proxies: the client's
    /// Behind a proxy that endpoint.trusted_proxies does not name: the client that the proxy
    /// claims.
    std::optional<net::PeerAddress> claimed;
    core::MonoTime began{};
    std::optional<core::Uaid> client;  ///< for the request log, once it is known
    bool answered = false;

    const HttpRequest& request() const { return exchange->request(); }
};
using CallPtr = std::shared_ptr<Call>;

}  // namespace beckon::ingest
