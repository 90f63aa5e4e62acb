#include "app/process/watchdog.hpp"

#include "core/logger.hpp"
#include "core/pause.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace beckon::app {

namespace {

constexpr std::string_view kAlive = "WATCHDOG=1";

std::string socket_of_supervisor() {
    const char* const name = std::getenv("NOTIFY_SOCKET");
    return name && std::getenv("WATCHDOG_USEC") ? name : "";
}

/// Whether the datagram was taken. Never waits.
bool send(int socket, const std::string& name, std::string_view text) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    std::ranges::copy(name, address.sun_path);
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto size = offsetof(sockaddr_un, sun_path) + name.size();
    return ::sendto(socket, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&address),
                    static_cast<socklen_t>(size)) == static_cast<ssize_t>(text.size());
}

void run(const std::stop_token& stop, const ops::Health& health, const std::string& name) {
    pthread_setname_np(pthread_self(), "watchdog");
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool well = true;
    do {
        const bool sent = !health.report().live || send(socket, name, kAlive);
        if (!sent && std::exchange(well, false)) {
            core::log_warn("app", "watchdog_not_told",
                           {{"why", std::generic_category().message(errno)}});
        }
        well = sent;
    } while (core::pause(stop, Watchdog::kEvery));
    ::close(socket);
}

}  // namespace

Watchdog::Watchdog(const ops::Health& health) : Watchdog(health, socket_of_supervisor()) {}

Watchdog::Watchdog(const ops::Health& health, const std::string& socket) {
    if (socket.empty()) return;
    thread_ =
        std::jthread{[&health, socket](const std::stop_token& stop) { run(stop, health, socket); }};
}

}  // namespace beckon::app
