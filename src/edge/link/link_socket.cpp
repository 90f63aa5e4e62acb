#include "edge/link/link_socket.hpp"

#include "core/contain.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <ev.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::edge::link {

using core::Fault;

namespace {

constexpr std::string_view kPlace = "edge-link";
constexpr std::size_t kReadBytes = std::size_t{64} * 1024;
/// Reads in one turn, so that a peer who sends without end does not hold up the others.
constexpr int kReadsPerTurn = 16;

void set_no_delay(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// The fault for an `errno` of a connection that was not made.
Fault fault_of(int error) { return error == ECONNREFUSED ? Fault::not_found : Fault::unavailable; }

std::string openssl_reason() {
    const auto code = ERR_get_error();
    ERR_clear_error();
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    return reason ? reason : "the connection was closed";
}

}  // namespace

struct LinkSocket::Impl : std::enable_shared_from_this<Impl> {
    Impl(struct ev_loop* l, int f, SslHandle s, Events e)
        : loop(l), fd(f), ssl(std::move(s)), events(std::move(e)) {
        set_no_delay(fd);
        SSL_set_fd(ssl.get(), fd);
        ev_io_init(&readable, on_io, fd, EV_READ);
        ev_io_init(&writable, on_io, fd, EV_WRITE);
        readable.data = writable.data = this;
    }

    ~Impl() { release(); }

    void start() {
        ev_io_start(loop, &readable);
        ev_io_start(loop, &writable);
    }

    void release() {
        const std::scoped_lock lock{mutex};
        if (fd < 0) return;
        ev_io_stop(loop, &readable);
        ev_io_stop(loop, &writable);
        SSL_shutdown(ssl.get());
        ERR_clear_error();
        ::close(std::exchange(fd, -1));
    }

    void end(Fault fault, std::string why) {
        if (fd < 0) return;
        release();
        const auto closed = std::exchange(events, {}).closed;
        if (closed) closed(core::Error{fault, std::move(why)});
    }

    static void on_io(struct ev_loop*, ev_io* watcher, int flags) noexcept {
        const auto self = static_cast<Impl*>(watcher->data)->shared_from_this();
        if (core::contain(kPlace, [&] { self->ready(flags); })) return;
        // What had come may be half taken.
        core::contain(kPlace, [&] { self->end(Fault::unavailable, "an exception ended it"); });
    }

    void ready(int flags) {
        if (!established) return handshake();
        if (flags & EV_WRITE) write_again();
        if (fd >= 0 && (flags & EV_READ)) read();
    }

    void handshake() {
        ERR_clear_error();
        const int done = SSL_do_handshake(ssl.get());
        if (done == 1) {
            established = true;
            ev_io_stop(loop, &writable);
            const auto open = events.open;
            open();
            // Bytes that came in the same segment as the handshake's end wake no watcher any more.
            if (fd >= 0 && reading) read();
            return;
        }
        switch (SSL_get_error(ssl.get(), done)) {
            case SSL_ERROR_WANT_READ: ev_io_stop(loop, &writable); return;
            case SSL_ERROR_WANT_WRITE: ev_io_start(loop, &writable); return;
            case SSL_ERROR_SSL:
                return end(Fault::unauthorized,
                           "the peer holds another key ring or is no Beckon node (OpenSSL: " +
                               openssl_reason() + ")");
            default: return connect_failed();
        }
    }

    /// The connection never came about.
    void connect_failed() {
        int error = 0;
        socklen_t size = sizeof error;
        const int before = errno;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error == 0) error = before;
        end(fault_of(error), error == 0 ? "the peer closed the connection" : std::strerror(error));
    }

    void read() {
        std::array<char, kReadBytes> buffer;
        for (int i = 0; i < kReadsPerTurn && reading; ++i) {
            int error = SSL_ERROR_NONE;
            const int got = read_some(buffer, error);
            if (got <= 0) return read_failed(error);
            const auto received = events.received;
            received({buffer.data(), static_cast<std::size_t>(got)});
            // Bytes that the kernel still holds wake the watcher again; this spares a read that
            // finds none.
            if (fd < 0 || !openssl_holds_some()) return;
        }
        read_what_openssl_holds();
    }

    int read_some(std::array<char, kReadBytes>& buffer, int& error) {
        const std::scoped_lock lock{mutex};
        ERR_clear_error();
        const int got = SSL_read(ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
        if (got <= 0) error = SSL_get_error(ssl.get(), got);
        return got;
    }

    bool openssl_holds_some() {
        const std::scoped_lock lock{mutex};
        return SSL_has_pending(ssl.get()) == 1;
    }

    /// Bytes for which the descriptor does not become readable: OpenSSL reads ahead.
    void read_what_openssl_holds() {
        if (reading && openssl_holds_some()) ev_feed_event(loop, &readable, EV_READ);
    }

    void read_failed(int error) {
        switch (error) {
            case SSL_ERROR_WANT_READ: return;
            case SSL_ERROR_WANT_WRITE: ev_io_start(loop, &writable); return;
            case SSL_ERROR_ZERO_RETURN:
                return end(Fault::unavailable, "the peer closed the connection");
            case SSL_ERROR_SSL: return end(Fault::unavailable, openssl_reason());
            default:
                return end(Fault::unavailable,
                           errno == 0 ? "the connection was closed" : std::strerror(errno));
        }
    }

    bool write(std::string& bytes) {
        std::size_t sent = 0;
        bool takes_more = true;
        while (sent < bytes.size()) {
            ERR_clear_error();
            std::size_t now = 0;
            const int done =
                SSL_write_ex(ssl.get(), bytes.data() + sent, bytes.size() - sent, &now);
            if (done == 1) {
                sent += now;
                continue;
            }
            if (const int error = SSL_get_error(ssl.get(), done);
                error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ) {
                takes_more = false;
            }
            // Any other error shows at the next read, which ends the connection.
            break;
        }
        bytes.erase(0, sent);
        return takes_more;
    }

    void write_again() {
        ev_io_stop(loop, &writable);
        const auto ready = events.writable;
        ready();
    }

    struct ev_loop* const loop;
    std::mutex mutex;  ///< guards OpenSSL's state of the connection, and the end of `fd`
    int fd;            ///< changed on the loop's thread only
    const SslHandle ssl;
    Events events;
    ev_io readable{};
    ev_io writable{};
    bool established = false;
    bool reading = true;
};

LinkSocket::LinkSocket(struct ev_loop* loop, int fd, SslHandle ssl, Events events)
    : impl_(std::make_shared<Impl>(loop, fd, std::move(ssl), std::move(events))) {
    impl_->start();
}

LinkSocket::~LinkSocket() { close(); }

void LinkSocket::close() {
    impl_->events = {};
    impl_->release();
}

std::unique_lock<std::mutex> LinkSocket::lock() { return std::unique_lock{impl_->mutex}; }

std::unique_lock<std::mutex> LinkSocket::try_lock() {
    return std::unique_lock{impl_->mutex, std::try_to_lock};
}

bool LinkSocket::is_open() const { return impl_->fd >= 0; }

bool LinkSocket::write(std::string& bytes) { return impl_->write(bytes); }

void LinkSocket::wait_until_writable() {
    if (impl_->fd >= 0) ev_io_start(impl_->loop, &impl_->writable);
}

void LinkSocket::set_reading(bool on) {
    if (impl_->fd < 0 || impl_->reading == on) return;
    impl_->reading = on;
    if (!on) {
        ev_io_stop(impl_->loop, &impl_->readable);
        return;
    }
    ev_io_start(impl_->loop, &impl_->readable);
    impl_->read_what_openssl_holds();
}

}  // namespace beckon::edge::link
