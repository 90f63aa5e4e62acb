#pragma once

#include "edge/loop/shard_loop.hpp"
#include "net/listener.hpp"

#include <functional>
#include <memory>

#include <sys/socket.h>

namespace beckon::edge {

/// Accepts the connections of one listening socket on its shard's loop. Out of file descriptors it
/// pauses for a moment instead of spinning.
class Acceptor {
public:
    /// The handler owns the descriptor, which is non-blocking.
    using Accepted = std::function<void(int fd, const sockaddr_storage& peer)>;
    using Paused = std::function<void()>;

    /// Before the loop runs.
    Acceptor(ShardLoop& loop, net::Descriptor listener, net::Room room, Accepted accepted,
             Paused paused);
    /// On the loop's thread, or after its end.
    ~Acceptor();

    /// Closes the listening socket. On the loop's thread.
    void stop();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
