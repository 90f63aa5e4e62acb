#include "edge/link/links.hpp"

#include "core/logger.hpp"
#include "core/result.hpp"
#include "edge/link/link_connection.hpp"
#include "edge/link/link_socket.hpp"
#include "edge/link/link_tls.hpp"
#include "edge/link/resolver.hpp"
#include "edge/loop/acceptor.hpp"
#include "edge/loop/shard_loop.hpp"
#include "net/descriptor.hpp"
#include "net/listener.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace beckon::edge::link {

using core::Fault;

namespace {

/// For links of others, where clients have taken all other file descriptors.
constexpr std::size_t kOwnDescriptors = 4;
constexpr core::Duration kTick = std::chrono::milliseconds{500};
/// How soon a link that stopped reading checks again whether this node can take more.
constexpr core::Duration kCongestedFor = std::chrono::milliseconds{2};
constexpr core::Duration kRefusedLogEvery = std::chrono::seconds{5};
/// A link that was up for so long is called again at once when it is lost.
constexpr core::Duration kLasted = std::chrono::seconds{1};

struct Connection;

/// One other node.
struct Peer {
    Peer(core::NodeId n, std::size_t bytes_max) : node(std::move(n)), queue(bytes_max) {}

    const core::NodeId node;
    LinkQueue queue;  ///< any thread

    /// The connection on which to send, which may be closed at any moment; null: none is up. Any
    /// thread.
    std::shared_ptr<Connection> route() {
        const std::scoped_lock lock{route_mutex};
        return sends_on.lock();
    }
    void set_route(const std::shared_ptr<Connection>& up) {
        const std::scoped_lock lock{route_mutex};
        sends_on = up;
    }
    std::mutex route_mutex;
    std::weak_ptr<Connection> sends_on;

    // of the links' thread
    std::string address;           ///< empty: it calls us, and `ownership` has not named it yet
    std::uint64_t connection = 0;  ///< 0: none
    bool dialing = false;
    std::size_t key_index = 0;  ///< counted back from the key that encrypts
    core::Duration retry_after{};
    std::string why_down = "not connected yet";
    bool refused = false;  ///< the last call was
    int refusals = 0;      ///< calls in a row that were refused
    bool retry_posted = false;
};

struct Connection {
    Connection(std::uint64_t i, LinkConnection p, core::MonoTime now)
        : id(i), began(now), protocol(std::move(p)) {}

    const std::uint64_t id;
    const core::MonoTime began;
    LinkConnection protocol;
    std::shared_ptr<LinkSocket> socket;
    std::shared_ptr<Peer> called;  ///< whom we called; null: it called us
    std::shared_ptr<Peer> peer;    ///< once greeted; constant from then on
    bool open = false;             ///< the handshake is done
    bool probes = false;           ///< hangs up once it is open

    // under the socket's lock
    std::string unsent;
    bool blocked = false;  ///< until the socket is writable again
};

}  // namespace

struct Links::Impl {
    Impl(EdgeOptions o, std::shared_ptr<const core::KeyRing> keys, const core::Clock& c, Events e)
        : options(std::move(o)),
          clock(c),
          events(std::move(e)),
          tls(std::move(keys)),
          loop("edge-link", c),
          random(static_cast<unsigned>(std::hash<std::string>{}(options.node.text))) {
        auto listeners = net::listen_shared(
            {.host = options.link_host, .port = options.link_port, .sockets = 1});
        port = net::port_of(listeners.front());
        acceptor = std::make_unique<Acceptor>(
            loop, std::move(listeners.front()), [this] { return descriptors.take(); },
            [this](int fd, const sockaddr_storage&) { accepted(fd); }, [] {});
        loop.post([this] { tick(); });
        loop.start();
    }

    ~Impl() {
        loop.stop([this] {
            acceptor.reset();
            for (const auto& [id, connection] : connections) connection->socket->close();
            connections.clear();
            resolver.reset();  // here, since a link that is down dials until now
        });
    }

    // --- peers
    std::shared_ptr<Peer> find(const core::NodeId& node) const;
    std::shared_ptr<Peer> find_or_add(const core::NodeId& node);
    void set_peers(const std::map<core::NodeId, std::string>& addresses);
    template <class Message>
    Sent send(const core::NodeId& to, const Message& message);
    void flush_sent();

    // --- calling
    /// Whether this node makes the link; else it only looks whether the peer listens.
    bool calls(const Peer& peer) const { return options.node < peer.node; }
    void dial(const std::shared_ptr<Peer>& peer);
    void connecting(const std::shared_ptr<Peer>& peer, core::Result<int> fd);
    void dial_later(const std::shared_ptr<Peer>& peer);
    void dial_after(const std::shared_ptr<Peer>& peer, core::Duration pause);
    void not_connected(const std::shared_ptr<Peer>& peer, const core::Error& why);

    // --- connections
    void accepted(int fd);
    void open(int fd, SslHandle ssl, std::shared_ptr<Peer> called);
    void received(Connection& connection, std::string_view bytes);
    void greeted(Connection& connection);
    void writable(Connection& connection);
    void flush(Connection& connection, std::string_view replies = {});
    void flush(const std::shared_ptr<Peer>& peer);
    enum class Written {
        done,   ///< or another one sees to the rest
        blocks  ///< the links' thread is to wait until the socket takes more
    };
    static Written write(Connection& connection);
    void write_from_any_thread(const std::shared_ptr<Peer>& peer);
    void pause_if_congested(Connection& connection);
    void close(std::uint64_t id, const core::Error& why);
    void probed(const std::shared_ptr<Peer>& peer, const core::Error& why);
    void refused(const core::Error& why);
    void tick();

    /// Runs `f` with the connection of that number, if it is still there.
    template <class F>
    void with(std::uint64_t id, F f) {
        const auto at = connections.find(id);
        if (at == connections.end()) return;
        const auto connection = at->second;  // `f` may close it
        f(*connection);
    }

    const EdgeOptions options;
    const core::Clock& clock;
    const Events events;
    const LinkTls tls;
    std::uint16_t port = 0;
    ShardLoop loop;
    std::unique_ptr<Resolver> resolver = std::make_unique<Resolver>(loop);

    mutable std::shared_mutex mutex;  ///< guards the map, not the peers
    std::map<core::NodeId, std::shared_ptr<Peer>> peers;

    std::mutex sent_mutex;
    std::vector<std::shared_ptr<Peer>> reported;  ///< peers for which frames wait since flush()

    // of the links' thread
    net::OwnDescriptors descriptors{kOwnDescriptors};
    std::unique_ptr<Acceptor> acceptor;
    std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections;
    std::uint64_t last_connection = 0;
    std::optional<core::MonoTime> refused_logged;
    std::minstd_rand random;  ///< jitter only
};

std::shared_ptr<Peer> Links::Impl::find(const core::NodeId& node) const {
    const std::shared_lock lock{mutex};
    const auto at = peers.find(node);
    return at == peers.end() ? nullptr : at->second;
}

std::shared_ptr<Peer> Links::Impl::find_or_add(const core::NodeId& node) {
    const std::scoped_lock lock{mutex};
    auto& peer = peers[node];
    if (!peer) peer = std::make_shared<Peer>(node, options.link_queue_bytes_max);
    return peer;
}

void Links::Impl::set_peers(const std::map<core::NodeId, std::string>& addresses) {
    std::vector<std::shared_ptr<Peer>> gone;
    {
        const std::scoped_lock lock{mutex};
        std::erase_if(peers, [&](const auto& entry) {
            if (addresses.contains(entry.first)) return false;
            // One that called before `ownership` has named it stays while it is connected.
            const bool named = !entry.second->address.empty();
            if (!named && entry.second->connection != 0) return false;
            gone.push_back(entry.second);
            return true;
        });
    }
    for (const auto& peer : gone) {
        peer->address.clear();
        close(peer->connection, {Fault::unavailable, "the node has left the cluster"});
    }
    for (const auto& [node, address] : addresses) {
        if (node == options.node) continue;
        const auto peer = find_or_add(node);
        if (peer->address == address) continue;
        peer->address = address;
        peer->retry_after = kRetryFirst;
        if (peer->connection != 0) continue;
        if (calls(*peer)) {
            dial(peer);
        } else {
            dial_later(peer);  // it is to call by then
        }
    }
}

template <class Message>
Sent Links::Impl::send(const core::NodeId& to, const Message& message) {
    auto peer = find(to);
    if (!peer) return Sent::away;
    switch (peer->queue.append(message)) {
        case LinkQueue::Append::first: {
            const std::scoped_lock lock{sent_mutex};
            reported.push_back(std::move(peer));
            return Sent::yes;
        }
        case LinkQueue::Append::joined: return Sent::yes;
        case LinkQueue::Append::full: return Sent::full;
        case LinkQueue::Append::closed: return Sent::away;
    }
    return Sent::away;
}

void Links::Impl::flush_sent() {
    std::vector<std::shared_ptr<Peer>> now;
    {
        const std::scoped_lock lock{sent_mutex};
        now.swap(reported);
    }
    for (const auto& peer : now) write_from_any_thread(peer);
}

/// Never waits: if another thread is at the socket, the links' thread goes on with the waiting
/// frames.
void Links::Impl::write_from_any_thread(const std::shared_ptr<Peer>& peer) {
    const auto connection = peer->route();
    if (!connection) return;
    {
        const auto lock = connection->socket->try_lock();
        if (!lock) return loop.post([this, peer] { flush(peer); });
        if (write(*connection) == Written::done) return;
    }
    loop.post([this, id = connection->id] {
        with(id, [](Connection& c) { c.socket->wait_until_writable(); });
    });
}

void Links::Impl::dial(const std::shared_ptr<Peer>& peer) {
    if (peer->address.empty() || peer->dialing || peer->connection != 0) return;
    const auto address = parse_address(peer->address);
    if (!address) return not_connected(peer, address.error());
    peer->dialing = true;
    resolver->connect(*address,
                      [this, peer](core::Result<int> fd) { connecting(peer, std::move(fd)); });
}

void Links::Impl::connecting(const std::shared_ptr<Peer>& peer, core::Result<int> fd) {
    peer->dialing = false;
    if (!fd) {
        if (peer->connection != 0) return;
        not_connected(peer, fd.error());
        return dial_later(peer);
    }
    // The key that every node has comes first; the others after it, for a peer that is behind.
    // The ring may grow between two looks at it, and then its keys stand in another list: but it
    // loses none, so the later list has the earlier look's key.
    const auto sealing = tls.keys().sealing().id;
    const auto& keys = tls.keys().keys();
    const auto at = std::find_if(keys.begin(), keys.end(),
                                 [sealing](const auto& key) { return key.id == sealing; });
    const auto first = static_cast<std::size_t>(at - keys.begin());
    const auto& key = keys[(first + keys.size() - peer->key_index % keys.size()) % keys.size()];
    open(*fd, tls.dialing(key.id), peer);
}

void Links::Impl::dial_later(const std::shared_ptr<Peer>& peer) {
    const auto jitter = peer->retry_after * static_cast<int>(random() % 1000) / 2000;
    dial_after(peer, peer->retry_after + jitter);
    peer->retry_after = std::min(peer->retry_after * 2, kRetryMost);
}

void Links::Impl::dial_after(const std::shared_ptr<Peer>& peer, core::Duration pause) {
    if (find(peer->node) != peer || std::exchange(peer->retry_posted, true)) return;
    loop.post_after(pause, [this, peer] {
        peer->retry_posted = false;
        dial(peer);
    });
}

/// Counts refused calls. One line for each new reason, not for each attempt.
void Links::Impl::not_connected(const std::shared_ptr<Peer>& peer, const core::Error& why) {
    if (why.fault != Fault::not_found) {
        peer->refusals = 0;
    } else if (++peer->refusals == kRefusals && events.dead) {
        events.dead(peer->node);
    }
    peer->refused = why.fault == Fault::unauthorized;
    if (peer->why_down == why.message) return;
    peer->why_down = why.message;
    core::log_warn("edge", "link_down",
                   {{"peer", peer->node.text},
                    {"address", peer->address},
                    {"fault", core::to_string(why.fault)},
                    {"why", why.message}});
}

void Links::Impl::accepted(int fd) {
    const auto unnamed = std::count_if(connections.begin(), connections.end(), [](const auto& c) {
        return !c.second->peer && !c.second->called;
    });
    if (static_cast<std::size_t>(unnamed) >= kUnnamedMax) {
        ::close(fd);
        return;
    }
    open(fd, tls.accepting(), nullptr);
}

void Links::Impl::open(int fd, SslHandle ssl, std::shared_ptr<Peer> called) {
    LinkConnection::Options protocol{
        .self = {.node = options.node, .log_id = options.log_id},
        .expected = called ? std::optional{called->node} : std::nullopt};
    const auto id = ++last_connection;
    auto connection = std::make_shared<Connection>(
        id, LinkConnection{std::move(protocol), clock.mono()}, clock.mono());
    connection->called = std::move(called);
    connection->probes = connection->called && !calls(*connection->called);
    if (connection->called && !connection->probes) connection->called->connection = id;
    connections.emplace(id, connection);
    if (!ssl) {
        ::close(fd);
        return close(id, {Fault::unavailable, "OpenSSL has no memory for a connection"});
    }
    connection->socket = std::make_shared<LinkSocket>(
        loop.native(), fd, std::move(ssl),
        LinkSocket::Events{
            .open =
                [this, id] {
                    with(id, [this](Connection& c) {
                        c.open = true;
                        if (c.probes) return close(c.id, {Fault::conflict, "the peer listens"});
                        flush(c, c.protocol.opening());
                    });
                },
            .received =
                [this, id](std::string_view bytes) {
                    with(id, [&](Connection& c) { received(c, bytes); });
                },
            .writable = [this, id] { with(id, [this](Connection& c) { writable(c); }); },
            .closed = [this, id](const core::Error& why) { close(id, why); }});
}

void Links::Impl::received(Connection& connection, std::string_view bytes) {
    Messages arrivals;
    std::string replies;
    const auto taken = connection.protocol.receive(bytes, clock.mono(), replies, arrivals);
    // Before the link is up: the greeting goes before all other frames.
    if (!replies.empty()) flush(connection, replies);
    if (!connection.peer && connection.protocol.peer()) greeted(connection);
    if (!arrivals.empty()) events.arrived(connection.peer->node, std::move(arrivals));
    if (!taken) return close(connection.id, taken.error());
    pause_if_congested(connection);
}

/// From here on the link is up. A peer that calls again has lost the connection that we still have.
void Links::Impl::greeted(Connection& connection) {
    const auto peer = find_or_add(*connection.protocol.peer());
    if (peer->connection != 0 && peer->connection != connection.id) {
        close(peer->connection, {Fault::unavailable, "the peer has connected again"});
    }
    connection.peer = peer;
    peer->connection = connection.id;
    peer->retry_after = kRetryFirst;
    peer->refusals = 0;
    peer->why_down.clear();
    peer->refused = false;
    peer->set_route(connections.at(connection.id));
    peer->queue.open();
    core::log_info("edge", "link_up", {{"peer", peer->node.text}, {"address", peer->address}});
    events.up(peer->node);
}

void Links::Impl::writable(Connection& connection) {
    {
        const auto lock = connection.socket->lock();
        connection.blocked = false;
    }
    flush(connection);
}

void Links::Impl::flush(const std::shared_ptr<Peer>& peer) {
    with(peer->connection, [this](Connection& c) { flush(c); });
}

/// `replies`: frames of the protocol itself.
void Links::Impl::flush(Connection& connection, std::string_view replies) {
    const auto lock = connection.socket->lock();
    connection.unsent += replies;
    if (write(connection) == Written::blocks) connection.socket->wait_until_writable();
}

/// Under the socket's lock. Messages that wait for a peer may belong to its next connection
/// already, so a closed connection takes none of them.
Links::Impl::Written Links::Impl::write(Connection& connection) {
    if (connection.blocked || !connection.socket->is_open()) return Written::done;
    const bool up = connection.peer != nullptr;
    if (up) connection.peer->queue.take(connection.unsent);
    if (!connection.unsent.empty()) {
        connection.blocked = !connection.socket->write(connection.unsent);
    }
    if (up) connection.peer->queue.sent(connection.unsent.size());
    return connection.blocked ? Written::blocks : Written::done;
}

void Links::Impl::pause_if_congested(Connection& connection) {
    if (!events.congested()) return connection.socket->set_reading(true);
    connection.socket->set_reading(false);
    connection.protocol.not_reading(clock.mono());
    loop.post_after(kCongestedFor, [this, id = connection.id] {
        with(id, [this](Connection& c) { pause_if_congested(c); });
    });
}

void Links::Impl::close(std::uint64_t id, const core::Error& why) {
    const auto at = connections.find(id);
    if (at == connections.end()) return;
    const auto connection = std::move(at->second);
    connections.erase(at);
    if (connection->socket) connection->socket->close();
    const bool was_up = connection->peer != nullptr;
    const auto peer = was_up ? connection->peer : connection->called;
    if (!peer) {
        // A node that found another one here than it meant goes away by itself.
        const bool went = connection->open && why.fault == Fault::unavailable;
        if (!went) refused(why);
        return;
    }
    if (connection->probes) return probed(peer, why);
    if (peer->connection == id) peer->connection = 0;
    if (was_up) {
        peer->queue.close();
    } else if (why.fault == Fault::unauthorized) {
        ++peer->key_index;  // the peer may hold an older ring than this node
    }
    not_connected(peer, why);
    if (was_up) events.down(peer->node, why);
    if (was_up && clock.mono() - connection->began >= kLasted) {
        dial_after(peer, {});
    } else {
        dial_later(peer);
    }
}

/// The peer is to make the link. A call that it took, or did not answer, says nothing.
void Links::Impl::probed(const std::shared_ptr<Peer>& peer, const core::Error& why) {
    if (peer->connection != 0) return;
    if (why.fault == Fault::not_found) {
        not_connected(peer, why);
    } else {
        peer->refusals = 0;
    }
    dial_later(peer);
}

/// Every peer that reaches the port can cause such a line, so their number is limited.
void Links::Impl::refused(const core::Error& why) {
    if (events.refused) events.refused(why);
    const auto now = clock.mono();
    if (refused_logged && now - *refused_logged < kRefusedLogEvery) return;
    refused_logged = now;
    core::log_warn("edge", "link_refused",
                   {{"fault", core::to_string(why.fault)}, {"why", why.message}});
}

void Links::Impl::tick() {
    loop.post_after(kTick, [this] { tick(); });  // first: an exception below ends no later tick
    descriptors.refill();
    std::vector<std::uint64_t> ids;
    for (const auto& [id, connection] : connections) ids.push_back(id);
    for (const auto id : ids) {
        with(id, [this](Connection& c) {
            std::string pings;
            const auto alive = c.protocol.tick(clock.mono(), pings);
            if (!alive) return close(c.id, alive.error());
            if (c.peer) flush(c, pings);
        });
    }
}

Links::Links(EdgeOptions options, std::shared_ptr<const core::KeyRing> keys,
             const core::Clock& clock, Events events)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(keys), clock, std::move(events))) {
}

Links::~Links() = default;

std::uint16_t Links::port() const { return impl_->port; }

void Links::set_peers(std::map<core::NodeId, std::string> addresses) {
    impl_->loop.post(
        [impl = impl_.get(), addresses = std::move(addresses)] { impl->set_peers(addresses); });
}

Sent Links::to_home(const core::NodeId& node, const ToHome& message) {
    return impl_->send(node, message);
}

Sent Links::to_front(const core::NodeId& node, const ToFront& message) {
    return impl_->send(node, message);
}

void Links::flush() { impl_->flush_sent(); }

std::vector<LinkStatus> Links::status() const {
    std::vector<LinkStatus> out;
    impl_->loop.run_and_wait([&] {
        const std::shared_lock lock{impl_->mutex};
        for (const auto& [node, peer] : impl_->peers) {
            const auto at = impl_->connections.find(peer->connection);
            out.push_back({.peer = node,
                           .up = at != impl_->connections.end() && at->second->peer,
                           .refused = peer->refused,
                           .why_down = peer->why_down,
                           .waiting_bytes = peer->queue.waiting_bytes()});
        }
    });
    return out;
}

}  // namespace beckon::edge::link
