#include "support/ws_client.hpp"

#include <chrono>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::test {

namespace {
using Clock = std::chrono::steady_clock;
constexpr std::string_view kMask = "\x11\x22\x33\x44";
}  // namespace

struct WsClient::Impl {
    int fd = -1;
    SSL_CTX* context = nullptr;
    SSL* ssl = nullptr;
    std::string head;
    std::string buffer;
    bool ended = false;

    ~Impl() {
        if (ssl) SSL_free(ssl);
        if (context) SSL_CTX_free(context);
        if (fd >= 0) ::close(fd);
    }

    void write(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto n =
                ssl ? SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()))
                    : static_cast<int>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
            if (n <= 0) return;  // the server ended it; the test sees that when it reads
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    /// Reads some; false at the end or after the limit.
    bool fill(Clock::time_point until) {
        if (ended) return false;
        if (!ssl || SSL_pending(ssl) == 0) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
            pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
            if (left.count() <= 0 || poll(&p, 1, static_cast<int>(left.count())) <= 0) return false;
        }
        char piece[16'384];
        const auto n = ssl ? SSL_read(ssl, piece, sizeof piece)
                           : static_cast<int>(::recv(fd, piece, sizeof piece, 0));
        if (n <= 0) {
            ended = true;
            return false;
        }
        buffer.append(piece, static_cast<std::size_t>(n));
        return true;
    }

    bool need(std::size_t bytes, Clock::time_point until) {
        while (buffer.size() < bytes) {
            if (!fill(until)) return false;
        }
        return true;
    }
};

unsigned WsClient::Event::code() const {
    if (!is_close() || payload.size() < 2) return 0;
    return static_cast<unsigned>(static_cast<unsigned char>(payload[0]) << 8 |
                                 static_cast<unsigned char>(payload[1]));
}

std::string WsClient::Event::reason() const {
    return is_close() && payload.size() > 2 ? payload.substr(2) : std::string{};
}

WsClient::WsClient(std::uint16_t port, Tls tls) : impl_(std::make_unique<Impl>()) {
    impl_->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(impl_->fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        throw std::runtime_error("cannot connect to port " + std::to_string(port));
    }
    const int on = 1;
    setsockopt(impl_->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (tls == Tls::no) return;
    impl_->context = SSL_CTX_new(TLS_client_method());
    impl_->ssl = SSL_new(impl_->context);
    SSL_set_fd(impl_->ssl, impl_->fd);
    if (SSL_connect(impl_->ssl) != 1) throw std::runtime_error("the TLS handshake failed");
}

WsClient::~WsClient() = default;
WsClient::WsClient(WsClient&&) noexcept = default;
WsClient& WsClient::operator=(WsClient&&) noexcept = default;

bool WsClient::upgrade(std::string_view path, std::string_view more_headers) {
    std::string text = "GET ";
    text.append(path).append(
        " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n");
    text.append(more_headers).append("\r\n");
    raw(text);
    const auto until = Clock::now() + std::chrono::seconds{5};
    std::size_t end = 0;
    while ((end = impl_->buffer.find("\r\n\r\n")) == std::string::npos) {
        if (!impl_->fill(until)) {
            impl_->head = impl_->buffer;
            return false;
        }
    }
    impl_->head = impl_->buffer.substr(0, end + 4);
    impl_->buffer.erase(0, end + 4);
    return impl_->head.starts_with("HTTP/1.1 101");
}

const std::string& WsClient::head() const { return impl_->head; }

std::string WsClient::request(std::string_view text) {
    raw(text);
    const auto until = Clock::now() + std::chrono::seconds{5};
    while (impl_->fill(until)) {
    }
    return impl_->buffer;
}

void WsClient::raw(std::string_view bytes) { impl_->write(bytes); }

void WsClient::frame(int opcode, std::string_view payload, bool final) {
    std::string bytes;
    bytes.push_back(static_cast<char>((final ? 0x80 : 0) | opcode));
    const std::size_t n = payload.size();
    if (n < 126) {
        bytes.push_back(static_cast<char>(0x80 | n));
    } else if (n < 65'536) {
        bytes.push_back(static_cast<char>(0x80 | 126));
        bytes.push_back(static_cast<char>(n >> 8));
        bytes.push_back(static_cast<char>(n & 0xff));
    } else {
        bytes.push_back(static_cast<char>(0x80 | 127));
        for (int shift = 56; shift >= 0; shift -= 8) {
            bytes.push_back(static_cast<char>(n >> shift & 0xff));
        }
    }
    bytes += kMask;
    for (std::size_t i = 0; i < n; ++i) {
        bytes.push_back(static_cast<char>(payload[i] ^ kMask[i % 4]));
    }
    raw(bytes);
}

void WsClient::frame_head(int opcode, std::uint64_t claimed, std::string_view begun) {
    std::string bytes;
    bytes.push_back(static_cast<char>(0x80 | opcode));
    bytes.push_back(static_cast<char>(0x80 | 127));
    for (int shift = 56; shift >= 0; shift -= 8) {
        bytes.push_back(static_cast<char>(claimed >> shift & 0xff));
    }
    bytes += kMask;
    for (std::size_t i = 0; i < begun.size(); ++i) {
        bytes.push_back(static_cast<char>(begun[i] ^ kMask[i % 4]));
    }
    raw(bytes);
}

void WsClient::close(unsigned code, std::string_view reason) {
    std::string payload;
    payload.push_back(static_cast<char>(code >> 8));
    payload.push_back(static_cast<char>(code & 0xff));
    frame(8, payload.append(reason));
}

WsClient::Event WsClient::next(int limit_ms) {
    const auto until = Clock::now() + std::chrono::milliseconds{limit_ms};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(impl_->buffer[i]); };
    const auto nothing = [&] {
        return Event{.kind = impl_->ended ? Event::Kind::end : Event::Kind::timeout,
                     .opcode = 0,
                     .payload = {}};
    };
    if (!impl_->need(2, until)) return nothing();
    std::size_t head = 2;
    std::size_t size = byte(1) & 0x7f;
    if (size >= 126) {
        const std::size_t more = size == 126 ? 2 : 8;
        if (!impl_->need(2 + more, until)) return nothing();
        size = 0;
        for (std::size_t i = 0; i < more; ++i) size = size << 8 | byte(2 + i);
        head += more;
    }
    if (!impl_->need(head + size, until)) return nothing();
    Event event{.kind = Event::Kind::frame,
                .opcode = byte(0) & 0x0f,
                .payload = impl_->buffer.substr(head, size)};
    impl_->buffer.erase(0, head + size);
    return event;
}

WsClient::Event WsClient::next_message(int limit_ms) {
    for (;;) {
        Event event = next(limit_ms);
        if (event.kind != Event::Kind::frame || event.opcode < 9) return event;
    }
}

WsClient::Event WsClient::until_closed(int limit_ms) {
    for (;;) {
        Event event = next(limit_ms);
        if (event.kind != Event::Kind::frame || event.opcode == 8) return event;
    }
}

void WsClient::set_receive_buffer(int bytes) {
    setsockopt(impl_->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

std::string WsClient::certificate_subject() const {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate{
        SSL_get1_peer_certificate(impl_->ssl), &X509_free};
    if (!certificate) return {};
    char text[256] = {};
    X509_NAME_oneline(X509_get_subject_name(certificate.get()), text, sizeof text);
    return text;
}

int WsClient::fd() const { return impl_->fd; }

}  // namespace beckon::test
