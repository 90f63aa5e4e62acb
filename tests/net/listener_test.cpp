#include "net/listener.hpp"

#include "core/descriptors.hpp"

#include <cerrno>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <sys/resource.h>

using namespace beckon;
using net::AcceptOutcome;
using net::PortFor;

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
TEST_CASE("connections leave the last file descriptors to others", "[net]") {
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 256;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    const auto reserved = core::reserved_descriptors(256);

    const auto listeners = net::listen_shared({});
    std::vector<net::Descriptor> open;
    const auto accept_one = [&](PortFor port) {
        const auto client = connected_to(listeners.front());
        return net::accept_some(
            listeners.front().get(), 1, port,
            [&](net::Descriptor socket, const auto&) { open.push_back(std::move(socket)); });
    };
    while (accept_one(PortFor::clients) == AcceptOutcome::more) REQUIRE(open.size() < 256);
    CHECK(errno == EMFILE);
    CHECK(core::has_descriptors(reserved - 2));
    const auto before = open.size();
    while (accept_one(PortFor::operators) == AcceptOutcome::more) REQUIRE(open.size() < 256);
    CHECK(open.size() > before);
    CHECK(core::has_descriptors(reserved / 2 - 2));

    open.pop_back();
    open.resize(open.size() / 2);
    CHECK(accept_one(PortFor::clients) == AcceptOutcome::more);
}
