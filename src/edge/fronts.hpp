#pragma once

#include "core/result.hpp"
#include "edge/edge_metrics.hpp"
#include "edge/front/front.hpp"
#include "edge/loop/shard_loop.hpp"
#include "edge/switchboard/switchboard.hpp"
#include "edge/ws/ws_server.hpp"
#include "net/connection_limiter.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace beckon::edge {

struct FrontsOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    core::Partition partitions = 1;
    std::size_t shards = 1;
    FrontOptions front;
    WsServerOptions sockets;
    net::ConnectionLimits limits;
    std::string version;
    std::string commit{};
};

/// The front side of an edge process: its shards' loops, sockets and fronts, and the switchboard
/// that homes are plugged into. Made and destroyed on one thread, which is none of the loops.
class Fronts {
public:
    /// Opens the sockets; nothing is accepted before start(). Throws std::runtime_error.
    /// `why_unready`: for the monitoring routes; any thread; empty: all is well.
    Fronts(FrontsOptions options, const core::Clock& clock, const EdgeMetrics& metrics,
           std::function<std::string()> why_unready);
    /// Stops running parts and sends nothing to the clients.
    ~Fronts();

    void start();

    /// Accepts no more, closes the clients with 1001, evenly over `drain`, and waits for the
    /// sockets to end; in no case longer than `drain` and a second.
    void go_away(core::Duration drain);
    /// Ends the loops; the homes' objects must be gone by then.
    void stop();

    std::uint16_t port() const;
    std::size_t shards() const;
    ShardLoop& loop(std::size_t shard);
    Switchboard& switchboard();
    /// Error: the certificate or its key cannot be used, and the former ones stay in use.
    core::Result<void> reload_tls();
    /// The broadcasts that the fronts send, from now on. Any thread.
    void broadcasts(const BroadcastsPtr& now);
    /// Clients that have said hello, at most a second ago.
    std::size_t identified() const;

private:
    struct Shard;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
