#pragma once

#include "core/result.hpp"
#include "edge/edge_metrics.hpp"
#include "edge/edge_options.hpp"
#include "edge/front/front.hpp"
#include "edge/loop/shard_loop.hpp"
#include "edge/switchboard/switchboard.hpp"
#include "edge/ws/ws_server.hpp"
#include "net/connection_limiter.hpp"
#include "net/descriptor.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace beckon::edge {

/// The front side of an edge process: its shards' loops, sockets and fronts, and the switchboard
/// that homes are plugged into. Made and destroyed on one thread, which is none of the loops.
class Fronts {
public:
    /// Opens the sockets; nothing is accepted before start(). Raises the process's limit of file
    /// descriptors, and logs if fewer clients fit than are wanted. Throws std::runtime_error.
    /// `why_unready`: for the monitoring routes; any thread; empty: all is well.
    Fronts(EdgeOptions options, const core::Clock& clock, const EdgeMetrics& metrics,
           std::function<std::string()> why_unready);
    /// Stops running parts and sends nothing to the clients.
    ~Fronts();

    void start();

    /// Accepts no more, closes the clients with 1001, evenly over `drain`, and waits for the
    /// sockets to end; in no case longer than `drain` and a second.
    void go_away(core::Duration drain);
    /// Ends the loops; the homes' objects must be gone by then.
    void stop();

    std::uint16_t port() const { return port_; }
    std::size_t shards() const;
    ShardLoop& loop(std::size_t shard);
    Switchboard& switchboard() { return *board_; }
    /// Error: the certificate or its key cannot be used, and the former ones stay in use.
    core::Result<void> reload_tls();
    /// The broadcasts that the fronts send, from now on. Any thread.
    void broadcasts(const BroadcastsPtr& now);
    /// Clients that have said hello, at most a second ago.
    std::size_t identified() const;

private:
    struct Shard;
    struct Drain;
    void build(std::size_t index, net::Descriptor listener, const EdgeMetrics& metrics);
    void drain_step(Shard& shard, Drain drain);

    const EdgeOptions options_;
    TicketKeys ticket_keys_{};
    const core::Clock& clock_;
    const std::function<std::string()> why_unready_;
    net::Admission admission_;
    std::vector<std::unique_ptr<Shard>> shards_;
    std::unique_ptr<Switchboard> board_;
    std::uint16_t port_ = 0;
};

}  // namespace beckon::edge
