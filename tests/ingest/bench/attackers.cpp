#include "attackers.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace beckon::bench {

namespace {

int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        std::perror("bench: attacker");
        std::_Exit(1);
    }
    return fd;
}

bool send_all(int fd, std::string_view bytes) {
    return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
}

bool has_ended(int fd) {
    char byte;
    const auto n = ::recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

struct Dripper {
    int fd = -1;
    bool in_body = false;
};

void begin(Dripper& dripper, std::uint16_t port) {
    if (dripper.fd >= 0) ::close(dripper.fd);
    dripper.fd = connect_to(port);
    send_all(dripper.fd, dripper.in_body
                             ? "POST /wpush/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n"
                             : "POST /wpush/x HTTP/1.1\r\nHost: x\r\nX: ");
}

[[noreturn]] void attack(const AttackOptions& options, int ready) {
    std::vector<int> idle;
    for (int i = 0; i < options.idle; ++i) {
        idle.push_back(connect_to(options.port));
        send_all(idle.back(), options.request);
        std::array<char, 1024> reply{};
        if (::recv(idle.back(), reply.data(), reply.size(), 0) <= 0) std::_Exit(1);
    }
    std::vector<Dripper> drippers(static_cast<std::size_t>(options.drippers));
    for (std::size_t i = 0; i < drippers.size(); ++i) {
        drippers[i].in_body = i % 2 == 0;
        begin(drippers[i], options.port);
    }
    std::vector<int> floods(static_cast<std::size_t>(options.floods), -1);
    const std::string chunk = "1000\r\n" + std::string(4096, 'x') + "\r\n";
    if (::write(ready, "r", 1) != 1) std::_Exit(1);
    for (int tick = 0;; ++tick) {
        ::poll(nullptr, 0, 100);
        for (auto& fd : floods) {
            if (fd < 0) {
                fd = connect_to(options.port);
                send_all(fd,
                         "POST /wpush/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
            }
            if (!send_all(fd, chunk) || has_ended(fd)) {
                ::close(fd);
                fd = -1;
            }
        }
        if (tick % 10 != 0) continue;
        for (auto& dripper : drippers) {
            if (!send_all(dripper.fd, "x") || has_ended(dripper.fd)) begin(dripper, options.port);
        }
    }
}

}  // namespace

Attackers::Attackers(const AttackOptions& options) : child_(-1) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) std::abort();
    child_ = ::fork();
    if (child_ == 0) {
        ::dup2(pipe[1], 3);
        ::close_range(4, ~0U, 0);  // the server's sockets must end when it closes them
        attack(options, 3);
    }
    ::close(pipe[1]);
    char byte;
    if (::read(pipe[0], &byte, 1) != 1) std::fprintf(stderr, "bench: the attackers failed\n");
    ::close(pipe[0]);
}

Attackers::~Attackers() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
}

}  // namespace beckon::bench
