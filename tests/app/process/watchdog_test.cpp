#include "app/process/watchdog.hpp"

#include "support/temp_dir.hpp"

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

using namespace beckon;
using namespace std::chrono_literals;

namespace {

/// A supervisor's socket.
class Supervisor {
public:
    explicit Supervisor(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path, sizeof address.sun_path - 1);
        if (name.front() == '@') address.sun_path[0] = '\0';
        const auto size = offsetof(sockaddr_un, sun_path) + name.size();
        REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                       static_cast<socklen_t>(size)) == 0);
    }
    ~Supervisor() { ::close(socket_); }
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    /// The next datagram; empty: none came in this time.
    std::string next(std::chrono::milliseconds within) const {
        const auto whole = std::chrono::floor<std::chrono::seconds>(within);
        const timeval limit{whole.count(), std::chrono::microseconds{within - whole}.count()};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        std::array<char, 64> text{};
        const auto size = ::recv(socket_, text.data(), text.size(), 0);
        return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
    }

private:
    const int socket_;
};

}  // namespace

TEST_CASE("a supervisor hears every second of a process that is live") {
    const test::TempDir directory;
    const auto name = GENERATE_REF(values<std::string>(
        {(directory.path() / "notify").string(), "@" + directory.path().string()}));
    const Supervisor supervisor{name};
    ops::Health health;
    const app::Watchdog watchdog{health, name};
    for (int i = 0; i < 3; ++i) CHECK(supervisor.next(10s) == "WATCHDOG=1");
}

TEST_CASE("a supervisor hears nothing while a loop hangs") {
    const test::TempDir directory;
    const auto name = (directory.path() / "notify").string();
    const Supervisor supervisor{name};
    ops::Health health;
    health.set_dead("edge", "the loop edge-0 hangs");
    const app::Watchdog watchdog{health, name};
    CHECK(supervisor.next(2500ms).empty());
    health.set_dead("edge", "");
    CHECK(supervisor.next(10s) == "WATCHDOG=1");
}

TEST_CASE("without a supervisor, or with one that is gone, nothing happens") {
    const ops::Health health;
    const app::Watchdog none{health, ""};
    const app::Watchdog gone{health, "/nowhere/notify"};
    const app::Watchdog too_long{health, "/" + std::string(200, 'x')};
}
