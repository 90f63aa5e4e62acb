#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::test {

/// A reply as it came over the wire.
struct WireReply {
    int status = 0;
    std::string head;
    std::string body;
};

/// A blocking client socket on loopback; every wait is bounded, nothing sleeps.
class TestSocket {
public:
    explicit TestSocket(std::uint16_t port) : TestSocket() { connect(port); }
    static TestSocket unconnected() { return TestSocket{}; }
    void connect(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            throw std::runtime_error("cannot connect");
        }
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    ~TestSocket() {
        if (fd_ >= 0) ::close(fd_);
    }
    TestSocket(TestSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    TestSocket& operator=(TestSocket&&) = delete;

    /// False if the peer has reset the connection.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }
    void end_output() { ::shutdown(fd_, SHUT_WR); }

    /// The next bytes, "" at the end; nullopt after 20 s without any or at a reset.
    std::optional<std::string> receive() {
        pollfd wait{fd_, POLLIN, 0};
        if (::poll(&wait, 1, 20'000) != 1) return std::nullopt;
        std::string bytes(65'536, '\0');
        const auto n = ::recv(fd_, bytes.data(), bytes.size(), 0);
        if (n < 0) return std::nullopt;
        bytes.resize(static_cast<std::size_t>(n));
        return bytes;
    }

    /// The next reply; status 0 if the connection ended or was reset before.
    WireReply read_reply() {
        WireReply reply;
        std::size_t end;
        while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
            if (!fill()) return reply;
        }
        reply.head = buffer_.substr(0, end + 4);
        buffer_.erase(0, end + 4);
        std::size_t length = 0;
        const auto at = reply.head.find("Content-Length: ");
        if (at != std::string::npos)
            length = std::strtoul(reply.head.c_str() + at + 16, nullptr, 10);
        while (buffer_.size() < length) {
            if (!fill()) return {};
        }
        reply.body = buffer_.substr(0, length);
        buffer_.erase(0, length);
        reply.status = std::atoi(reply.head.c_str() + 9);
        return reply;
    }

    /// True if the peer ends the connection in order, without another byte.
    bool ends() {
        if (!buffer_.empty()) return false;
        const auto bytes = receive();
        return bytes && bytes->empty();
    }
    bool ends_or_is_reset() {
        pollfd wait{fd_, POLLIN, 0};
        if (::poll(&wait, 1, 20'000) != 1) return false;
        char byte;
        return ::recv(fd_, &byte, 1, 0) <= 0;
    }

    int fd() const { return fd_; }

private:
    TestSocket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}

    bool fill() {
        const auto bytes = receive();
        if (!bytes || bytes->empty()) return false;
        buffer_ += *bytes;
        return true;
    }

    int fd_;
    std::string buffer_;
};

/// A port of loopback that refuses connections: nobody listens, and no other process can take it.
class RefusingPort {
public:
    RefusingPort() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (::bind(socket_.fd(), any, size) != 0 || ::getsockname(socket_.fd(), any, &size) != 0) {
            throw std::runtime_error("cannot bind a port");
        }
        number_ = ntohs(address.sin_port);
    }
    std::string address() const { return "127.0.0.1:" + std::to_string(number_); }

private:
    const TestSocket socket_ = TestSocket::unconnected();
    std::uint16_t number_ = 0;
};

}  // namespace beckon::test
