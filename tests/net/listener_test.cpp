#include "net/listener.hpp"

#include "core/descriptors.hpp"
#include "net/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>

using namespace beckon;
using net::AcceptOutcome;

namespace {

net::Descriptor connected_to(const net::Descriptor& listener) {
    net::Descriptor client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(net::port_of(listener));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    return client;
}

}  // namespace

// Otherwise idle connections take the descriptors that the log and the stores need to go on.
TEST_CASE("connections leave the last file descriptors to others") {
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 256;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    const auto reserved = core::reserved_descriptors(256);

    const auto listeners = net::listen_shared({});
    std::vector<net::Descriptor> open;
    const auto accept_one = [&](const net::Room& room) {
        const auto client = connected_to(listeners.front());
        return net::accept_some(
            listeners.front().get(), 1, room,
            [&](net::Descriptor socket, const auto&) { open.push_back(std::move(socket)); });
    };
    net::OwnDescriptors own{3};
    const auto from_own = [&] { return own.take(); };
    while (accept_one(net::no_room) == AcceptOutcome::more) REQUIRE(open.size() < 256);
    CHECK(errno == EMFILE);
    CHECK(core::has_descriptors(reserved - 2));
    for (int i = 0; i < 3; ++i) CHECK(accept_one(from_own) == AcceptOutcome::more);
    CHECK(accept_one(from_own) == AcceptOutcome::exhausted);
    CHECK(core::has_descriptors(reserved - 2));

    // One that ends is the port's again, however many others wait.
    own.give_back(std::move(open.back()));
    open.pop_back();
    CHECK(accept_one(net::no_room) == AcceptOutcome::exhausted);
    CHECK(accept_one(from_own) == AcceptOutcome::more);

    open.resize(open.size() / 2);
    CHECK(accept_one(net::no_room) == AcceptOutcome::more);
}

// Otherwise a connection that was accepted a moment ago makes way for nobody.
TEST_CASE("without any descriptor, no room is made for a connection that is not there") {
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, 256);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    const auto listeners = net::listen_shared({});
    const auto client = connected_to(listeners.front());
    std::vector<net::Descriptor> all;
    for (;;) {
        net::Descriptor one{::fcntl(client.get(), F_DUPFD_CLOEXEC, 0)};
        if (!one) break;
        all.push_back(std::move(one));
    }
    int asked = 0;
    std::vector<net::Descriptor> open;
    const auto accept = [&] {
        return net::accept_some(
            listeners.front().get(), 8,
            [&] {
                ++asked;
                auto one = std::move(all.front());
                all.erase(all.begin());
                return one;
            },
            [&](net::Descriptor socket, const auto&) { open.push_back(std::move(socket)); });
    };
    CHECK(accept() == AcceptOutcome::drained);
    CHECK(open.size() == 1);
    CHECK(asked == 1);
    CHECK(accept() == AcceptOutcome::drained);
    CHECK(asked == 1);
}
