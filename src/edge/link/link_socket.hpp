#pragma once

#include "core/result.hpp"
#include "edge/link/link_tls.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <ev.h>

namespace beckon::edge::link {

/// One TCP connection with TLS between two nodes: bytes in, bytes out. It knows nothing of frames.
/// Everything happens on the thread of its loop, but other threads may write. Destroying it closes
/// the connection at once and calls nothing any more; an event handler may let go of the socket
/// that called it. Owned by shared_ptr alone.
class LinkSocket : public std::enable_shared_from_this<LinkSocket> {
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
    ~LinkSocket() { close(); }
    LinkSocket(const LinkSocket&) = delete;
    LinkSocket& operator=(const LinkSocket&) = delete;

    /// The thread that holds the lock may write; it is held as long as OpenSSL works on the
    /// connection. Any thread; a thread that must not wait uses try_lock().
    std::unique_lock<std::mutex> lock() { return std::unique_lock{mutex_}; }
    std::unique_lock<std::mutex> try_lock() { return std::unique_lock{mutex_, std::try_to_lock}; }
    /// Under lock(): the end has not come.
    bool is_open() const { return fd_ >= 0; }
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
    static constexpr std::size_t kReadBytes = std::size_t{64} * 1024;

    static void on_io(struct ev_loop*, ev_io* watcher, int flags) noexcept;
    void ready(int flags);
    void handshake();
    void connect_failed();
    void read();
    int read_some(std::array<char, kReadBytes>& buffer, int& error);
    bool openssl_holds_some();
    void read_what_openssl_holds();
    void read_failed(int error);
    void release();
    void end(core::Fault fault, std::string why);

    struct ev_loop* const loop_;
    std::mutex mutex_;  ///< guards OpenSSL's state of the connection, and the end of `fd_`
    int fd_;            ///< changed on the loop's thread only
    const SslHandle ssl_;
    Events events_;
    ev_io readable_{};
    ev_io writable_{};
    bool established_ = false;
    bool reading_ = true;
};

}  // namespace beckon::edge::link
