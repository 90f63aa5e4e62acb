#pragma once

#include "core/executor.hpp"
#include "core/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace beckon::edge::link {

/// The parts of "host:port" or "[v6]:port". Errors: invalid.
struct Address {
    std::string host;
    std::uint16_t port = 0;
};
core::Result<Address> parse_address(const std::string& text);

/// Starts TCP connections for loops that must not wait: looking a name up may take seconds, so a
/// thread of its own (`link-resolve`) does it, one name after the other.
class Resolver {
public:
    /// A non-blocking socket that is connecting; the receiver owns it. Errors: those of
    /// start_connect().
    using Connecting = std::function<void(core::Result<int>)>;

    Resolver();
    /// Waits for a look-up under way, drops the other requests, and answers none.
    ~Resolver();

    /// Answers on `executor`. Any thread. One request for each peer is under way at a time, so the
    /// number of nodes bounds the queue.
    void connect(Address to, core::Executor& executor, Connecting done);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge::link
