#include "bench/load/stream.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::bench {

namespace {

constexpr std::size_t kReadBytes = 64U << 10;
/// A peer that takes nothing is given up on.
constexpr std::size_t kUnsentBytesMax = 16U << 20;
constexpr std::size_t kUnreadBytesMax = 16U << 20;

bool later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

std::shared_ptr<SSL_CTX> make_tls() {
    std::shared_ptr<SSL_CTX> context{SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    std::signal(SIGPIPE, SIG_IGN);  // NOLINT: OpenSSL writes without MSG_NOSIGNAL
    return context;
}

}  // namespace

bool Target::loopback() const {
    if (address.ss_family != AF_INET) return false;
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(ipv4.sin_addr.s_addr) >> 24) == 127;
}

core::Result<Target> look_up(const client::Url& url) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error =
        getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
    if (error != 0) {
        return core::fail(core::Fault::unavailable,
                          "look up " + url.host + ": " + gai_strerror(error));
    }
    Target target;
    // "localhost" may name ::1 first, where nobody listens: IPv4 is tried before IPv6.
    const addrinfo* chosen = found;
    for (const addrinfo* entry = found; entry; entry = entry->ai_next) {
        if (entry->ai_family == AF_INET) {
            chosen = entry;
            break;
        }
    }
    __builtin_memcpy(&target.address, chosen->ai_addr, chosen->ai_addrlen);
    target.address_size = chosen->ai_addrlen;
    freeaddrinfo(found);
    target.host = url.host;
    if (url.tls()) target.tls = make_tls();
    return target;
}

void Stream::start(const Target& target, std::optional<std::uint32_t> source) {
    drop();
    fd_ = ::socket(target.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    state_ = State::connecting;
    if (fd_ < 0) return end();
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (target.loopback()) {
        // There is no congestion here, and the cheapest control costs the generator the least.
        setsockopt(fd_, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    }
    if (source) {
        sockaddr_in from{};
        from.sin_family = AF_INET;
        from.sin_addr.s_addr = *source;
        // The port is chosen at connect, so that it need be free towards this peer only.
        setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        if (::bind(fd_, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) return end();
    }
    if (target.tls) {
        tls_ = SSL_new(target.tls.get());
        SSL_set_fd(tls_, fd_);
        SSL_set_tlsext_host_name(tls_, target.host.c_str());
    }
    const int outcome =
        ::connect(fd_, reinterpret_cast<const sockaddr*>(&target.address), target.address_size);
    if (outcome != 0 && errno != EINPROGRESS) return end();
    if (!loop_.add(fd_, *this)) end();
}

void Stream::drop() {
    if (tls_) SSL_free(tls_);
    tls_ = nullptr;
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    state_ = State::closed;
    unread_.clear();
    unsent_.clear();
}

void Stream::end() {
    if (state_ == State::closed) return;
    drop();
    on_end();
}

void Stream::secure() {
    ERR_clear_error();
    const int outcome = SSL_connect(tls_);
    if (outcome == 1) {
        state_ = State::open;
        return on_open();
    }
    const int error = SSL_get_error(tls_, outcome);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) end();
}

void Stream::on_event(std::uint32_t events) {
    if (state_ == State::connecting) {
        if (events & (EPOLLERR | EPOLLHUP)) return end();
        if (!(events & EPOLLOUT)) return;
        state_ = tls_ ? State::securing : State::open;
        if (!tls_) on_open();
    }
    if (state_ == State::securing) secure();
    if (state_ != State::open) return;
    if (!unsent_.empty()) flush();
    const bool ended = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (ended || (events & EPOLLIN)) receive(ended);
}

long Stream::read_some(char* data, std::size_t size) {
    if (!tls_) {
        const ssize_t n = ::recv(fd_, data, size, 0);
        if (n > 0) return n;
        return n < 0 && later(errno) ? 0 : -1;
    }
    ERR_clear_error();
    const int n = SSL_read(tls_, data, static_cast<int>(size));
    if (n > 0) return n;
    const int error = SSL_get_error(tls_, n);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

long Stream::write_some(std::string_view data) {
    if (!tls_) {
        const ssize_t n = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
        if (n >= 0) return n;
        return later(errno) ? 0 : -1;
    }
    ERR_clear_error();
    const int n = SSL_write(tls_, data.data(), static_cast<int>(data.size()));
    if (n > 0) return n;
    const int error = SSL_get_error(tls_, n);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

/// Passes on what came, keeping the unused tail; false if the connection has ended meanwhile.
bool Stream::received(std::string_view data) {
    if (unread_.empty()) {
        const std::size_t used = on_data(data);
        if (state_ == State::open) unread_.assign(data.substr(used));
    } else {
        unread_.append(data);
        std::string whole = std::move(unread_);
        unread_.clear();
        const std::size_t used = on_data(whole);
        if (state_ == State::open) unread_.assign(whole, used);
    }
    if (state_ == State::open && unread_.size() > kUnreadBytesMax) end();
    return state_ == State::open;
}

void Stream::receive(bool ended) {
    // Shared by all streams of the thread, so that an idle one needs no buffer.
    thread_local std::array<char, kReadBytes> buffer;
    for (;;) {
        const long n = read_some(buffer.data(), buffer.size());
        if (n < 0) return end();
        if (n == 0) return;
        if (!received({buffer.data(), static_cast<std::size_t>(n)})) return;
        // A short read has emptied the socket: later bytes make a new edge. TLS is different, since
        // it gives one record at a time, and so is the end of the stream, whose edge is this one.
        if (!tls_ && !ended && static_cast<std::size_t>(n) < buffer.size()) return;
    }
}

bool Stream::send(std::string_view data) {
    if (state_ != State::open) return false;
    if (unsent_.empty()) {
        const long n = write_some(data);
        if (n < 0) {
            end();
            return false;
        }
        data.remove_prefix(static_cast<std::size_t>(n));
        if (data.empty()) return true;
    }
    unsent_.append(data);
    if (unsent_.size() <= kUnsentBytesMax) return true;
    end();
    return false;
}

void Stream::flush() {
    while (!unsent_.empty()) {
        const long n = write_some(unsent_);
        if (n < 0) return end();
        if (n == 0) return;
        unsent_.erase(0, static_cast<std::size_t>(n));
    }
    unsent_.shrink_to_fit();
}

}  // namespace beckon::bench
