#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/key_ring.hpp"
#include "core/tokens.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http_message.hpp"
#include "ingest/api/router.hpp"
#include "ingest/metrics/ingest_metrics.hpp"
#include "ingest/send/send_message.hpp"
#include "ingest/vapid/vapid.hpp"
#include "ingest/view/subscription_view.hpp"
#include "log/event_log.hpp"
#include "net/peer_address.hpp"
#include "net/rate_limiter.hpp"
#include "ops/health.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace beckon::ingest {

class Registration;

struct ServiceConfig {
    std::string origin;  ///< public, without a trailing slash
    std::vector<std::string> audiences;
    core::NodeId node;
    core::Partition partitions = 0;
    MessageLimits message;
    std::size_t vapid_cache_entries = 0;  ///< of each service
    std::size_t publish_bytes_max = 0;    ///< of all services together
    bool log_requests = false;            ///< at info instead of debug
    std::vector<std::string> fcm_app_ids;
    std::vector<std::string> apns_channels;
    /// SHA-256 of the VAPID keys whose messages are tracked.
    std::vector<Es256::Digest> tracked;
    std::string version;
    std::string commit;
    std::string source;
};

/// What all services of a process share. Constant, or thread-safe.
struct ServiceShared {
    ServiceConfig config;
    std::shared_ptr<const core::KeyRing> keys;
    const core::Clock& clock;
    SubscriptionView& view;
    IngestMetrics& metrics;
    const ops::Health& health;
    net::TrustedProxies proxies;
    net::RateLimiter requests;
    net::RateLimiter failed_vapid;
    std::atomic<std::size_t> publish_bytes{0};
    std::atomic<std::size_t> requests_open{0};
};

/// Answers HTTP requests over the log, without any sockets: the endpoint's logic. One instance
/// per io thread, used on that thread only.
class Service {
public:
    Service(ServiceShared& shared, log::EventLog& log, core::Executor& executor);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Replies now or later, exactly once, on this thread. Never blocks.
    void handle(ExchangePtr exchange);

private:
    friend class Registration;

    /// One request on its way, with what is needed to finish it.
    struct Call;
    using CallPtr = std::shared_ptr<Call>;

    void dispatch(const CallPtr& call);
    void finish(const CallPtr& call, HttpReply reply);
    void refuse_with(const CallPtr& call, const Failure& failure);
    /// After a mark: nothing was found. 503 instead if the store could not be read.
    void deny(const CallPtr& call, Problem problem);
    void add_cors(const HttpRequest& request, HttpReply& reply) const;
    void log_request(const Call& call, int status, double seconds) const;

    void send(const CallPtr& call);
    Checked<void> may_verify(const net::PeerAddress& peer) const;
    void accept(const CallPtr& call, Destination destination);
    void publish(const CallPtr& call, const MessageParts& parts, Destination destination);
    bool reserve_bytes(std::size_t bytes);
    void release_bytes(std::size_t bytes);

    void delete_message(const CallPtr& call);
    void preflight(const CallPtr& call);
    HttpReply monitor(RouteName route) const;

    ServiceShared& shared_;
    core::Executor& executor_;
    std::unique_ptr<log::Publisher> publisher_;
    core::Tokens tokens_;
    VapidVerifier vapid_;
    std::size_t vapid_cached_ = 0;  ///< as last told to the gauge
    std::unique_ptr<Registration> registration_;
};

}  // namespace beckon::ingest
