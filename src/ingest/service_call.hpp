#pragma once

#include "ingest/service.hpp"

namespace beckon::ingest {

struct Service::Call {
    ExchangePtr exchange;
    Route route;
    net::PeerAddress peer;  ///< behind trusted proxies: the client's
    core::MonoTime began{};
    std::optional<Addressed> addressed;  ///< of `send`, once known

    const HttpRequest& request() const { return exchange->request(); }
};

}  // namespace beckon::ingest
