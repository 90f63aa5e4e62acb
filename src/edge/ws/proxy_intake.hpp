#pragma once

#include "core/clock.hpp"
#include "edge/loop/shard_loop.hpp"
#include "net/descriptor.hpp"
#include "net/peer_address.hpp"
#include "net/proxy_header.hpp"

#include <cstddef>
#include <functional>
#include <list>
#include <optional>

#include <ev.h>

namespace beckon::edge {

/// Calls `readable` when a socket that libwebsockets serves has bytes, before the library is
/// called: its own watcher has the lower priority. On the loop's thread.
class ReadWatch {
public:
    ReadWatch(struct ev_loop* loop, int fd, std::function<void()> readable);
    ~ReadWatch();
    ReadWatch(const ReadWatch&) = delete;
    ReadWatch& operator=(const ReadWatch&) = delete;

    /// No calls until resume(): for a socket that is not to be read for now.
    void pause();
    void resume();

    std::size_t seen =
        0;  ///< bytes there were at the last call; 0: the library was called each time so far

private:
    struct ev_loop* loop_;
    ev_io watcher_{};
    std::function<void()> readable_;
};

/// Connections of trusted proxies whose PROXY header has not come yet. libwebsockets gets a socket
/// only behind its header. Bounded by the limit of sockets, by the header's size and by a deadline.
/// On the shard's thread.
class ProxyIntake {
public:
    /// The client that the header names, nullopt if it names none; or why there is no header.
    using Header = tl::expected<std::optional<net::PeerAddress>, net::ProxyFault>;
    /// Once for each socket that was taken, which is handed back.
    using Introduced =
        std::function<void(net::Descriptor socket, const net::Peer& proxy, const Header& header)>;

    ProxyIntake(ShardLoop& loop, core::Duration deadline, Introduced introduced);
    /// close_all().
    ~ProxyIntake();

    void take(net::Descriptor socket, const net::Peer& proxy);
    /// The waiting connections will get no header any more.
    void close_all();

private:
    struct Waiting;
    void read(Waiting& waiting);
    void finish(Waiting& waiting, const Header& header);

    ShardLoop& loop_;
    const core::Duration deadline_;
    const Introduced introduced_;
    std::list<Waiting> waiting_;
};

}  // namespace beckon::edge
