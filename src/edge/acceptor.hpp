#pragma once

#include "edge/shard_loop.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace beckon::edge {

/// A file descriptor that closes itself.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    int get() const { return fd_; }
    int release();

private:
    int fd_ = -1;
};

/// `count` listening sockets on one port (SO_REUSEPORT: the kernel spreads connections over them),
/// `port` 0: any free one. Throws std::runtime_error naming host, port and cause; a port that
/// another process listens on is an error, also if that one shares it.
std::vector<Descriptor> listen_shared(const std::string& host, std::uint16_t port,
                                      std::size_t count);
std::uint16_t port_of(const Descriptor& listener);

/// Accepts the connections of one listening socket on its shard's loop. Out of file descriptors it
/// pauses for a moment instead of spinning (docs/facts/libwebsockets.md#limits).
class Acceptor {
public:
    /// The handler owns the descriptor, which is non-blocking.
    using Accepted = std::function<void(int fd, const sockaddr_storage& peer)>;
    using Paused = std::function<void()>;

    /// Before the loop runs.
    Acceptor(ShardLoop& loop, Descriptor listener, Accepted accepted, Paused paused);
    /// On the loop's thread, or after its end.
    ~Acceptor();

    /// Closes the listening socket. On the loop's thread.
    void stop();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
