#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::test {

/// A receiver on a free port of 127.0.0.1 that behaves as scripted, well or badly. Each
/// connection has a thread; a script reads the request with read_request() and writes what it
/// likes.
class ScriptedServer {
public:
    /// One connection of the server's side.
    class Peer {
    public:
        Peer(int fd, const std::atomic<bool>& stopping) : fd_(fd), stopping_(stopping) {}
        int fd() const { return fd_; }
        /// Head and body; empty when the other side has closed, or the server ends.
        std::string read_request() {
            std::string text;
            while (true) {
                if (complete(text)) return text;
                char bytes[4096];
                const auto got = wait_readable() ? ::recv(fd_, bytes, sizeof bytes, 0) : 0;
                if (got <= 0) return "";
                text.append(bytes, static_cast<std::size_t>(got));
            }
        }
        bool write(std::string_view text) {
            return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) ==
                   static_cast<ssize_t>(text.size());
        }
        void answer(const std::string& status, const std::string& headers = "") {
            write("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n" + headers + "\r\n");
        }
        /// Each write is a packet from now on, and a read of the other side.
        void write_at_once() {
            const int on = 1;
            ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        void reset() {
            const linger now{1, 0};
            ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        /// Until the other side closes or the server ends.
        void hang() {
            char byte;
            while (wait_readable() && ::recv(fd_, &byte, 1, 0) > 0) {
            }
        }
        bool wait_readable(int limit_ms = 20'000) {
            for (int waited = 0; waited < limit_ms && !stopping_; waited += 20) {
                pollfd p{fd_, POLLIN, 0};
                if (::poll(&p, 1, 20) > 0) return true;
            }
            return false;
        }

    private:
        static bool complete(const std::string& text) {
            const auto head = text.find("\r\n\r\n");
            if (head == std::string::npos) return false;
            const auto at = text.find("Content-Length: ");
            const auto size = at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
            return text.size() >= head + 4 + size;
        }
        int fd_;
        const std::atomic<bool>& stopping_;
    };
    using Script = std::function<void(Peer&)>;

    explicit ScriptedServer(Script script) : script_(std::move(script)) {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        if (::bind(fd_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(fd_, 64) != 0) {
            throw std::runtime_error("cannot listen");
        }
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
        port_ = ntohs(at.sin_port);
        acceptor_ = std::thread{[this] { accept_all(); }};
    }
    ~ScriptedServer() {
        stopping_ = true;
        acceptor_.join();
        for (auto& thread : threads_) thread.join();
        ::close(fd_);
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    std::string url(const std::string& path = "/") const {
        return "http://127.0.0.1:" + std::to_string(port_) + path;
    }
    int connections() const { return connections_; }

private:
    void accept_all() {
        while (!stopping_) {
            pollfd p{fd_, POLLIN, 0};
            if (::poll(&p, 1, 20) <= 0) continue;
            const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
            if (fd < 0) continue;
            ++connections_;
            threads_.emplace_back([this, fd] {
                Peer peer{fd, stopping_};
                script_(peer);
                ::close(fd);
            });
        }
    }

    Script script_;
    int fd_ = -1;
    int port_ = 0;
    std::atomic<bool> stopping_ = false;
    std::atomic<int> connections_ = 0;
    std::vector<std::thread> threads_;  ///< of the acceptor's thread until it is joined
    std::thread acceptor_;
};

}  // namespace beckon::test
