#include "edge/link/link_socket.hpp"

#include "core/contain.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::edge::link {

using core::Fault;

namespace {

constexpr std::string_view kPlace = "edge-link";
/// Reads in one turn, so that a peer who sends without end does not hold up the others.
constexpr int kReadsPerTurn = 16;

/// The fault for an `errno` of a connection that was not made.
Fault fault_of(int error) { return error == ECONNREFUSED ? Fault::not_found : Fault::unavailable; }

std::string openssl_reason() {
    const auto code = ERR_get_error();
    ERR_clear_error();
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    return reason ? reason : "the connection was closed";
}

}  // namespace

LinkSocket::LinkSocket(struct ev_loop* loop, int fd, SslHandle ssl, Events events)
    : loop_(loop), fd_(fd), ssl_(std::move(ssl)), events_(std::move(events)) {
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL_set_fd(ssl_.get(), fd_);
    ev_io_init(&readable_, on_io, fd_, EV_READ);
    ev_io_init(&writable_, on_io, fd_, EV_WRITE);
    readable_.data = writable_.data = this;
    ev_io_start(loop_, &readable_);
    ev_io_start(loop_, &writable_);
}

void LinkSocket::close() {
    events_ = {};
    release();
}

void LinkSocket::release() {
    const std::scoped_lock lock{mutex_};
    if (fd_ < 0) return;
    ev_io_stop(loop_, &readable_);
    ev_io_stop(loop_, &writable_);
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
    ::close(std::exchange(fd_, -1));
}

void LinkSocket::end(Fault fault, std::string why) {
    if (fd_ < 0) return;
    release();
    const auto closed = std::exchange(events_, {}).closed;
    if (closed) closed(core::Error{fault, std::move(why)});
}

void LinkSocket::on_io(struct ev_loop*, ev_io* watcher, int flags) noexcept {
    const auto self = static_cast<LinkSocket*>(watcher->data)->shared_from_this();
    if (core::contain(kPlace, [&] { self->ready(flags); })) return;
    // A part of the bytes may be taken.
    core::contain(kPlace, [&] { self->end(Fault::unavailable, "an exception ended it"); });
}

void LinkSocket::ready(int flags) {
    if (!established_) return handshake();
    if (flags & EV_WRITE) {
        ev_io_stop(loop_, &writable_);
        const auto writable = events_.writable;
        writable();
    }
    if (fd_ >= 0 && (flags & EV_READ)) read();
}

void LinkSocket::handshake() {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    if (done == 1) {
        established_ = true;
        ev_io_stop(loop_, &writable_);
        const auto open = events_.open;
        open();
        // Bytes that came in the same segment as the handshake's end wake no watcher any more.
        if (fd_ >= 0 && reading_) read();
        return;
    }
    switch (SSL_get_error(ssl_.get(), done)) {
        case SSL_ERROR_WANT_READ: ev_io_stop(loop_, &writable_); return;
        case SSL_ERROR_WANT_WRITE: ev_io_start(loop_, &writable_); return;
        case SSL_ERROR_SSL:
            return end(Fault::unauthorized,
                       "the peer holds another key ring or is no Beckon node (OpenSSL: " +
                           openssl_reason() + ")");
        default: return connect_failed();
    }
}

/// The connection never came about.
void LinkSocket::connect_failed() {
    int error = 0;
    socklen_t size = sizeof error;
    const int before = errno;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) error = before;
    end(fault_of(error), error == 0 ? "the peer closed the connection" : std::strerror(error));
}

void LinkSocket::read() {
    std::array<char, kReadBytes> buffer;
    for (int i = 0; i < kReadsPerTurn && reading_; ++i) {
        int error = SSL_ERROR_NONE;
        const int got = read_some(buffer, error);
        if (got <= 0) return read_failed(error);
        const auto received = events_.received;
        received({buffer.data(), static_cast<std::size_t>(got)});
        // Bytes that the kernel still holds wake the watcher again; this spares a read that
        // finds none.
        if (fd_ < 0 || !openssl_holds_some()) return;
    }
    read_what_openssl_holds();
}

int LinkSocket::read_some(std::array<char, kReadBytes>& buffer, int& error) {
    const std::scoped_lock lock{mutex_};
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got <= 0) error = SSL_get_error(ssl_.get(), got);
    return got;
}

bool LinkSocket::openssl_holds_some() {
    const std::scoped_lock lock{mutex_};
    return SSL_has_pending(ssl_.get()) == 1;
}

/// Bytes for which the descriptor does not become readable: OpenSSL reads ahead.
void LinkSocket::read_what_openssl_holds() {
    if (reading_ && openssl_holds_some()) ev_feed_event(loop_, &readable_, EV_READ);
}

void LinkSocket::read_failed(int error) {
    switch (error) {
        case SSL_ERROR_WANT_READ: return;
        case SSL_ERROR_WANT_WRITE: ev_io_start(loop_, &writable_); return;
        case SSL_ERROR_ZERO_RETURN:
            return end(Fault::unavailable, "the peer closed the connection");
        case SSL_ERROR_SSL: return end(Fault::unavailable, openssl_reason());
        default:
            return end(Fault::unavailable,
                       errno == 0 ? "the connection was closed" : std::strerror(errno));
    }
}

bool LinkSocket::write(std::string& bytes) {
    std::size_t sent = 0;
    bool takes_more = true;
    while (sent < bytes.size()) {
        ERR_clear_error();
        std::size_t now = 0;
        const int done = SSL_write_ex(ssl_.get(), bytes.data() + sent, bytes.size() - sent, &now);
        if (done == 1) {
            sent += now;
            continue;
        }
        if (const int error = SSL_get_error(ssl_.get(), done);
            error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ) {
            takes_more = false;
        }
        // Any other error shows at the next read, which ends the connection.
        break;
    }
    bytes.erase(0, sent);
    return takes_more;
}

void LinkSocket::wait_until_writable() {
    if (fd_ >= 0) ev_io_start(loop_, &writable_);
}

void LinkSocket::set_reading(bool on) {
    if (fd_ < 0 || reading_ == on) return;
    reading_ = on;
    if (!on) {
        ev_io_stop(loop_, &readable_);
        return;
    }
    ev_io_start(loop_, &readable_);
    read_what_openssl_holds();
}

}  // namespace beckon::edge::link
