#include "net/http/transport.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace beckon::net {

namespace {

constexpr std::size_t kTlsRecord = 16'384;

}  // namespace

Transport::Transport(int socket, std::shared_ptr<const TlsContext> tls)
    : socket_(socket), tls_(std::move(tls)) {
    if (!tls_) return;
    ssl_ = SSL_new(tls_->get());
    if (!ssl_) throw std::bad_alloc{};
    SSL_set_fd(ssl_, socket_);
    SSL_set_accept_state(ssl_);
}

Transport::~Transport() {
    if (ssl_) SSL_free(ssl_);
}

Transport::Outcome Transport::outcome_of(int result) {
    switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ: return {Io::want_read, 0};
        case SSL_ERROR_WANT_WRITE: return {Io::want_write, 0};
        case SSL_ERROR_ZERO_RETURN: return {Io::ended, 0};
        default: break;
    }
    ERR_clear_error();
    return {Io::broken, 0};
}

Transport::Outcome Transport::handshake() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    return result == 1 ? Outcome{Io::done, 0} : outcome_of(result);
}

Transport::Outcome Transport::read(std::span<char> into) {
    if (ssl_) {
        ERR_clear_error();
        const auto capacity = std::min(into.size(), kTlsRecord);
        const int n = SSL_read(ssl_, into.data(), static_cast<int>(capacity));
        return n > 0 ? Outcome{Io::done, static_cast<std::size_t>(n)} : outcome_of(n);
    }
    const auto n = ::recv(socket_, into.data(), into.size(), 0);
    if (n > 0) return {Io::done, static_cast<std::size_t>(n)};
    if (n == 0) return {Io::ended, 0};
    if (errno == EAGAIN || errno == EINTR) return {Io::want_read, 0};
    return {Io::broken, 0};
}

Transport::Outcome Transport::write(std::span<const char> from) {
    if (ssl_) {
        ERR_clear_error();
        const auto capacity = std::min(from.size(), kTlsRecord);
        const int n = SSL_write(ssl_, from.data(), static_cast<int>(capacity));
        return n > 0 ? Outcome{Io::done, static_cast<std::size_t>(n)} : outcome_of(n);
    }
    const auto n = ::send(socket_, from.data(), from.size(), MSG_NOSIGNAL);
    if (n >= 0) return {Io::done, static_cast<std::size_t>(n)};
    if (errno == EAGAIN || errno == EINTR) return {Io::want_write, 0};
    return {Io::broken, 0};
}

bool Transport::has_buffered() const { return ssl_ && SSL_has_pending(ssl_) == 1; }

bool Transport::has_input() const {
    int waiting = 0;
    return has_buffered() || (::ioctl(socket_, FIONREAD, &waiting) == 0 && waiting > 0);
}

void Transport::end_output() {
    if (ssl_ && SSL_is_init_finished(ssl_)) {
        SSL_shutdown(ssl_);
        ERR_clear_error();
    }
    ::shutdown(socket_, SHUT_WR);
}

}  // namespace beckon::net
