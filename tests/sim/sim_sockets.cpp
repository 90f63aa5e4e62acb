#include "sim/sim_sockets.hpp"

#include <utility>

namespace beckon::sim {

void SimSockets::opened(std::uint64_t connection) {
    auto& made = connections_[connection] = std::make_unique<Connection>();
    made->number_here = connection;
    front_->opened(*made);
}

void SimSockets::text(std::uint64_t connection, std::string frame) {
    const auto at = connections_.find(connection);
    if (at != connections_.end()) front_->text(*at->second, std::move(frame));
}

void SimSockets::pong(std::uint64_t connection) {
    const auto at = connections_.find(connection);
    if (at != connections_.end()) front_->pong(*at->second);
}

void SimSockets::lost(std::uint64_t connection) {
    const auto at = connections_.find(connection);
    if (at == connections_.end()) return;
    front_->gone(*at->second);
    forget(connection);
}

void SimSockets::send(edge::Client& client, std::string text) {
    clients_.to_client(of(client).number_here, std::move(text));
}

void SimSockets::ping(edge::Client& client) { clients_.ping_client(of(client).number_here); }

/// The front may still be speaking of it.
void SimSockets::close(edge::Client& client, edge::Closing closing, edge::ClosedBy) {
    const auto number = of(client).number_here;
    front_->gone(client);
    clients_.close_client(number, closing);
    loop_.post([this, number] { forget(number); });
}

void SimSockets::set_timer(edge::Client& client, core::Duration after) {
    auto& connection = of(client);
    loop_.post_after(after, [this, number = connection.number_here, timer = ++connection.timer] {
        const auto at = connections_.find(number);
        if (at == connections_.end() || at->second->timer != timer) return;
        front_->timer(*at->second);
    });
}

void SimSockets::forget(std::uint64_t connection) { connections_.erase(connection); }

}  // namespace beckon::sim
