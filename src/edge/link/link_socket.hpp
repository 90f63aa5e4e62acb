#pragma once

#include "core/result.hpp"
#include "edge/link/link_tls.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

struct ev_loop;

namespace beckon::edge::link {

/// One TCP connection with TLS between two nodes: bytes in, bytes out. It knows nothing of frames.
/// Everything happens on the thread of its loop, but other threads may write. Destroying it closes
/// the connection at once and calls nothing any more; an event handler may destroy the socket that
/// called it.
class LinkSocket {
public:
    struct Events {
        /// The TLS handshake is done: the peer holds the same key ring.
        std::function<void()> open;
        std::function<void(std::string_view)> received;
        /// There is space to send again, after wait_until_writable().
        std::function<void()> writable;
        /// The end, reported once. `unauthorized`: the handshake failed, so the peer has another
        /// key ring or is no Beckon node. `not_found`: the call was refused, nobody listens there.
        /// `unavailable`: the connection was lost or closed, or the peer was not reached.
        std::function<void(const core::Error&)> closed;
    };

    /// Takes over `fd`, a non-blocking TCP socket that is connected.
    LinkSocket(struct ev_loop* loop, int fd, SslHandle ssl, Events events);
    ~LinkSocket();
    LinkSocket(const LinkSocket&) = delete;
    LinkSocket& operator=(const LinkSocket&) = delete;

    /// The thread that holds the lock may write; it is held as long as OpenSSL works on the
    /// connection. Any thread; a thread that must not wait uses try_lock().
    std::unique_lock<std::mutex> lock();
    std::unique_lock<std::mutex> try_lock();
    /// Under lock(): the end has not come.
    bool is_open() const;
    /// Sends from the front of `bytes` and removes the sent bytes. Under lock(), only after `open`
    /// and while is_open(). False: the kernel takes no more. True with bytes left: they cannot be
    /// sent any more, and `closed` follows.
    bool write(std::string& bytes);
    /// On the loop's thread.
    void wait_until_writable();
    /// Closes the connection and calls nothing any more, as the destructor does, which may be run
    /// by another thread afterwards.
    void close();

    /// Stops and starts reading: back-pressure on the peer by TCP's own means.
    void set_reading(bool on);

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace beckon::edge::link
