#pragma once

#include "edge/front/sockets.hpp"
#include "edge/loop/loop.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace beckon::sim {

/// Clients' ends of the connections of one process, as it reaches them.
class ClientSide {
public:
    virtual ~ClientSide() = default;
    virtual void to_client(std::uint64_t connection, std::string text) = 0;
    virtual void ping_client(std::uint64_t connection) = 0;
    virtual void close_client(std::uint64_t connection, const edge::Closing& closing) = 0;
};

/// The sockets of one shard: connections by number, without lws. A client's frames arrive here on
/// the shard's loop, in order.
class SimSockets final : public edge::Sockets {
public:
    SimSockets(edge::Loop& loop, ClientSide& clients) : loop_(loop), clients_(clients) {}

    void serve(edge::ClientEvents& front) { front_ = &front; }

    // --- from the clients
    void opened(std::uint64_t connection);
    void text(std::uint64_t connection, std::string frame);
    void pong(std::uint64_t connection);
    void lost(std::uint64_t connection);

    // --- Sockets
    void send(edge::Client& client, std::string text) override;
    void ping(edge::Client& client) override;
    void close(edge::Client& client, edge::Closing closing, edge::ClosedBy why) override;
    void set_timer(edge::Client& client, core::Duration after) override;

private:
    struct Connection : edge::Client {
        std::uint64_t number_here = 0;
        std::uint64_t timer = 0;  ///< counts them; an older one is stale
    };
    static Connection& of(edge::Client& client) { return static_cast<Connection&>(client); }
    void forget(std::uint64_t connection);

    edge::Loop& loop_;
    ClientSide& clients_;
    edge::ClientEvents* front_ = nullptr;
    std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
};

}  // namespace beckon::sim
