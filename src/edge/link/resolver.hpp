#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace beckon::edge::link {

/// The parts of "host:port" or "[v6]:port". Errors: invalid.
struct Address {
    std::string host;
    std::uint16_t port = 0;
};
core::Result<Address> parse_address(const std::string& text);

/// One address of a host, as the system takes it.
struct Endpoint {
    sockaddr_storage address{};
    socklen_t size = 0;
};

/// The addresses of a host, in the order in which they are to be tried. Blocks. Errors: unavailable
/// (the name is unknown).
core::Result<std::vector<Endpoint>> look_up(const Address& address);

/// A non-blocking socket that is connected to the first of these that takes the connection; the
/// caller owns it. Blocks until then, for `limit` at most, which the addresses share. Errors:
/// not_found (at each address nobody listens), unavailable (one was not reached, or there is none).
core::Result<int> connect_to_any(const std::vector<Endpoint>& endpoints, core::Duration limit);

/// Makes TCP connections for a loop that must not wait: looking a name up may take as long as its
/// servers like. Each connection is made on a thread of its own (`link-resolve`), so that a name
/// that is slow holds up no other, and its end waits for none of them. On the executor's thread.
class Resolver {
public:
    /// How long the addresses of a host may take in all.
    static constexpr core::Duration kConnectFor = std::chrono::seconds{3};

    /// Blocks; any thread.
    using LookUp = std::function<core::Result<std::vector<Endpoint>>(const Address&)>;
    /// A non-blocking socket that is connected; the receiver owns it. Errors: those of look_up()
    /// and connect_to_any().
    using Connecting = std::function<void(core::Result<int>)>;

    explicit Resolver(core::Executor& executor, LookUp look_up = link::look_up);

    /// Answers in a later turn, unless the resolver has gone by then. One connection for each peer
    /// is under way at a time, so the number of nodes bounds the threads.
    void connect(Address to, Connecting done);

private:
    const LookUp look_up_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::edge::link
