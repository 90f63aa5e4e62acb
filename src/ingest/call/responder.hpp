#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/tokens.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"
#include "ingest/api/router.hpp"
#include "ingest/call/shared.hpp"
#include "log/event_log.hpp"
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
    // For the request log, once they are known.
    std::optional<core::Uaid> client;
    std::optional<Problem> problem;
    bool answered = false;

    const HttpRequest& request() const { return exchange->request(); }
};
using CallPtr = std::shared_ptr<Call>;

/// Begins and finishes calls: adds the headers of every reply, counts and logs. One per service, on
/// its thread.
class Responder {
public:
    explicit Responder(ServiceShared& shared) : shared_(shared) {}

    /// A call whose last holder is destroyed without an answer, since the code that should have
    /// made it threw, is answered with 500.
    CallPtr begin(ExchangePtr exchange);
    /// Exactly once for each call; so do the others.
    void finish(const CallPtr& call, HttpReply reply);
    void refuse(const CallPtr& call, const Failure& failure);

    /// Calls that are not answered from now on never are: the service ends.
    void end() { lifetime_.end(); }

    /// How a publish ended; for readiness.
    void published(const core::Result<log::Appended>& appended);

private:
    void warn_of_unnamed_proxy(const Call& call);
    void log_request(const Call& call, int status, double seconds) const;

    void abandoned(const CallPtr& call);

    ServiceShared& shared_;
    core::Lifetime lifetime_;
};

/// The objects of one loop that the parts of its service use. They outlive the parts.
struct ServiceParts {
    ServiceShared& shared;
    Responder& responder;
    core::Tokens& tokens;
    log::Publisher& publisher;
    core::Executor& executor;
};

}  // namespace beckon::ingest
