#include "sim/sim_links.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace beckon::sim {

using core::Fault;
using edge::Sent;
using edge::link::LinkConnection;
using edge::link::LinkQueue;

namespace {

constexpr core::Duration kTick = std::chrono::milliseconds{500};

}  // namespace

struct SimLinks::Connection {
    Connection(std::uint64_t i, LinkConnection p, std::shared_ptr<SimWire> w, SimWire::Side s)
        : id(i), protocol(std::move(p)), wire(std::move(w)), side(s) {}
    const std::uint64_t id;
    LinkConnection protocol;
    const std::shared_ptr<SimWire> wire;
    const SimWire::Side side;
    PeerPtr called;  ///< whom we called; null: it called us
    PeerPtr peer;    ///< once greeted
    std::string unsent;
};

SimLinks::SimLinks(edge::EdgeOptions options, SimNetwork& network, core::Executor& loop,
                   const core::Clock& clock, edge::link::Links::Events events)
    : options_(std::move(options)),
      network_(network),
      loop_(loop),
      clock_(clock),
      events_(std::move(events)) {
    network_.listen(options_.node, loop_,
                    [this](const std::shared_ptr<SimWire>& wire) { accept(wire); });
    tick();
}

SimLinks::~SimLinks() {
    network_.leave(options_.node);
    for (const auto& [id, connection] : connections_) {  // peers and connections know each other
        connection->called.reset();
        connection->peer.reset();
    }
}

SimLinks::PeerPtr SimLinks::peer_of(const core::NodeId& node) {
    auto& peer = peers_[node];
    if (!peer) peer = std::make_shared<Peer>(node, options_.link_queue_bytes_max);
    return peer;
}

void SimLinks::set_peers(const std::set<core::NodeId>& nodes) {
    std::vector<PeerPtr> gone;
    std::erase_if(peers_, [&](const auto& entry) {
        const auto& peer = entry.second;
        // One that called before `ownership` has named it stays while it is connected.
        if (nodes.contains(entry.first) || (!peer->named && peer->connection)) return false;
        gone.push_back(peer);
        return true;
    });
    for (const auto& peer : gone) {
        if (const auto connection = peer->connection) {
            close(connection, {Fault::unavailable, "the node has left the cluster"});
        }
    }
    for (const auto& node : nodes) {
        if (node == options_.node) continue;
        const auto peer = peer_of(node);
        if (std::exchange(peer->named, true)) continue;
        peer->retry_after = edge::link::Links::kRetryFirst;
        if (!peer->connection && options_.node < node) {
            dial(peer);
        } else if (!peer->connection) {
            dial_later(peer);
        }
    }
}

template <class Message>
Sent SimLinks::send(const core::NodeId& to, const Message& message) {
    const auto at = peers_.find(to);
    if (at == peers_.end()) return Sent::away;
    switch (at->second->queue.append(message)) {
        case LinkQueue::Append::first: notified_.push_back(at->second); return Sent::yes;
        case LinkQueue::Append::joined: return Sent::yes;
        case LinkQueue::Append::full: return Sent::full;
        case LinkQueue::Append::closed: return Sent::away;
    }
    return Sent::away;
}

void SimLinks::flush() {
    for (auto& peer : std::exchange(notified_, {})) {
        loop_.post([this, peer = std::move(peer)] {
            if (peer->connection) flush(*peer->connection);
        });
    }
}

Sent SimLinks::to_home(const core::NodeId& node, const edge::ToHome& message) {
    return send(node, message);
}
Sent SimLinks::to_front(const core::NodeId& node, const edge::ToFront& message) {
    return send(node, message);
}

/// Of two nodes the one with the smaller id calls; the other one looks whether somebody listens.
void SimLinks::dial(const PeerPtr& peer) {
    if (!peer->named || peer->connection) return;
    if (!(options_.node < peer->node)) {
        not_connected(peer);
        return dial_later(peer);
    }
    const auto wire = network_.connect(options_.node, peer->node);
    if (wire) return open(wire, SimWire::caller, peer);
    not_connected(peer);
    dial_later(peer);
}

void SimLinks::not_connected(const PeerPtr& peer) {
    if (!network_.refuses(options_.node, peer->node)) {
        peer->refusals = 0;
    } else if (++peer->refusals == edge::link::Links::kRefusals && events_.dead) {
        events_.dead(peer->node);
    }
}

void SimLinks::dial_later(const PeerPtr& peer) {
    if (std::exchange(peer->dial_posted, true)) return;
    loop_.post_after(peer->retry_after, [this, peer] {
        peer->dial_posted = false;
        const auto at = peers_.find(peer->node);
        if (at != peers_.end() && at->second == peer) dial(peer);
    });
    peer->retry_after = std::min(peer->retry_after * 2, edge::link::Links::kRetryMost);
}

void SimLinks::accept(const std::shared_ptr<SimWire>& wire) {
    open(wire, SimWire::called, nullptr);
}

void SimLinks::open(const std::shared_ptr<SimWire>& wire, SimWire::Side side, PeerPtr expected) {
    LinkConnection::Options protocol{
        .self = {.node = options_.node, .log_id = options_.log_id},
        .expected = expected ? std::optional{expected->node} : std::nullopt};
    auto connection = std::make_shared<Connection>(
        ++last_connection_, LinkConnection{std::move(protocol), clock_.mono()}, wire, side);
    connection->called = std::move(expected);
    if (connection->called) connection->called->connection = connection;
    connections_.emplace(connection->id, connection);
    const std::weak_ptr weak{connection};
    wire->attach(side, {.loop = &loop_,
                        .received =
                            [this, weak](std::string_view bytes) {
                                if (const auto one = weak.lock()) received(one, bytes);
                            },
                        .writable =
                            [this, weak] {
                                if (const auto one = weak.lock()) flush(*one);
                            },
                        .closed =
                            [this, weak](const core::Error& why) {
                                if (const auto one = weak.lock()) close(one, why);
                            }});
    connection->unsent = connection->protocol.opening();
    loop_.post([this, weak] {
        if (const auto one = weak.lock()) flush(*one);
    });
}

void SimLinks::received(const std::shared_ptr<Connection>& connection, std::string_view bytes) {
    edge::Messages arrivals;
    const auto taken =
        connection->protocol.receive(bytes, clock_.mono(), connection->unsent, arrivals);
    if (!connection->peer && connection->protocol.peer()) greeted(connection);
    if (!arrivals.empty()) events_.arrived(connection->peer->node, std::move(arrivals));
    if (!taken) return close(connection, taken.error());
    flush(*connection);
}

/// A peer that calls again has lost the connection that we still have.
void SimLinks::greeted(const std::shared_ptr<Connection>& connection) {
    const auto peer = peer_of(*connection->protocol.peer());
    if (peer->connection && peer->connection != connection) {
        const auto former = peer->connection;
        close(former, {Fault::unavailable, "the peer has connected again"});
    }
    connection->peer = peer;
    peer->connection = connection;
    peer->retry_after = edge::link::Links::kRetryFirst;
    peer->refusals = 0;
    peer->queue.open();
    events_.up(peer->node);
}

void SimLinks::flush(Connection& connection) {
    if (connection.peer) connection.peer->queue.take(connection.unsent);
    if (!connection.unsent.empty()) connection.wire->write(connection.side, connection.unsent);
    if (connection.peer) connection.peer->queue.sent(connection.unsent.size());
}

void SimLinks::close(const std::shared_ptr<Connection>& connection, const core::Error& why) {
    if (connections_.erase(connection->id) == 0) return;
    connection->wire->close(connection->side);
    const auto peer = connection->peer ? connection->peer : connection->called;
    if (!peer) return;
    if (peer->connection == connection) peer->connection.reset();
    if (connection->peer) {
        peer->queue.close();
        events_.down(peer->node, why);
    }
    dial_later(peer);
}

void SimLinks::tick() {
    const auto now = clock_.mono();
    for (const auto& [id, connection] : std::map{connections_}) {
        const auto alive = connection->protocol.tick(now, connection->unsent);
        if (!alive) {
            close(connection, alive.error());
        } else {
            flush(*connection);
        }
    }
    loop_.post_after(kTick, [this] { tick(); });
}

}  // namespace beckon::sim
