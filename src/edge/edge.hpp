#pragma once

#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/tokens.hpp"
#include "edge/edge_options.hpp"
#include "edge/home/client_now.hpp"
#include "edge/protocol/broadcasts.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"
#include "records/broadcast.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace beckon::edge {

/// The edge role of a process: its shards (threads), its store, its place in the cluster.
class Edge {
public:
    /// Opens store and sockets and starts the shards; returns when it listens (not yet: serves;
    /// that is Health's "edge"). Throws std::runtime_error with one clear line.
    Edge(EdgeOptions options, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
         const core::Clock& clock, ops::Metrics& metrics, ops::Health& health);
    /// Stops: hands its partitions over to other edges, if there are any; takes no new sockets,
    /// closes clients staggered (1001), commits, joins the threads.
    ~Edge();

    std::uint16_t port() const;
    /// Reads certificate and key files again (SIGHUP). Old connections live on; a pair that does
    /// not fit changes nothing and is logged.
    void reload_tls();

    /// Calls back with the state of a message, on the thread of its shard. Any thread.
    void delivery_now(const core::MessageRef& message,
                      std::function<void(DeliveryNow)> reply) const;
    /// The same for the present state of a client.
    void client_now(const core::Uaid& client, std::function<void(ClientNow)> reply) const;
    /// Removes a client with its channels and messages, if this edge is its home; calls back when
    /// it is gone or the removal has failed, on the thread of its shard. Any thread.
    void remove_client(const core::Uaid& client, std::function<void(ClientRemoval)> reply);

    /// The broadcasts as this edge knows them. Any thread.
    BroadcastsPtr broadcasts() const;
    /// Publishes a version, or its end (check() has passed it); broadcasts() shows it when it is
    /// read back; a failure is logged. Any thread.
    void set_broadcast(BroadcastSet broadcast);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
