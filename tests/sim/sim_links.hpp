#pragma once

#include "core/clock.hpp"
#include "edge/link/link_connection.hpp"
#include "edge/link/links.hpp"
#include "edge/switchboard/messages.hpp"
#include "sim/sim_network.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace beckon::sim {

/// The links of one node: as edge::link::Links, with its queues, frames and protocol, over the
/// simulated network instead of sockets and TLS. On one loop.
class SimLinks final : public edge::NodeTransport {
public:
    SimLinks(edge::EdgeOptions options, SimNetwork& network, core::Executor& loop,
             const core::Clock& clock, edge::link::Links::Events events);
    /// A kill: nobody is notified here.
    ~SimLinks() override;
    SimLinks(const SimLinks&) = delete;
    SimLinks& operator=(const SimLinks&) = delete;

    /// The nodes that `ownership` names, this one among them.
    void set_peers(const std::set<core::NodeId>& nodes);

    edge::Sent to_home(const core::NodeId& node, const edge::ToHome& message) override;
    edge::Sent to_front(const core::NodeId& node, const edge::ToFront& message) override;
    void flush() override;

private:
    struct Connection;
    struct Peer {
        Peer(core::NodeId n, std::size_t bytes_max) : node(std::move(n)), queue(bytes_max) {}
        const core::NodeId node;
        edge::link::LinkQueue queue;
        std::shared_ptr<Connection> connection;  ///< greeted, or called and not answered yet
        core::Duration retry_after{};
        bool named = false;
        bool dial_posted = false;
        int refusals = 0;  ///< calls in a row that were refused
    };
    using PeerPtr = std::shared_ptr<Peer>;

    template <class Message>
    edge::Sent send(const core::NodeId& to, const Message& message);
    PeerPtr peer_of(const core::NodeId& node);
    void dial(const PeerPtr& peer);
    void dial_later(const PeerPtr& peer);
    void not_connected(const PeerPtr& peer);
    void accept(const std::shared_ptr<SimWire>& wire);
    void open(const std::shared_ptr<SimWire>& wire, SimWire::Side side, PeerPtr expected);
    void received(const std::shared_ptr<Connection>& connection, std::string_view bytes);
    void greeted(const std::shared_ptr<Connection>& connection);
    void flush(Connection& connection);
    void close(const std::shared_ptr<Connection>& connection, const core::Error& why);
    void tick();

    const edge::EdgeOptions options_;
    SimNetwork& network_;
    core::Executor& loop_;
    const core::Clock& clock_;
    const edge::link::Links::Events events_;
    std::map<core::NodeId, PeerPtr> peers_;
    std::vector<PeerPtr> notified_;  ///< those for whom something waits since flush()
    std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
    std::uint64_t last_connection_ = 0;
};

}  // namespace beckon::sim
