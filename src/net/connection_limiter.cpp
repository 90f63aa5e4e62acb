#include "net/connection_limiter.hpp"

#include <algorithm>

namespace beckon::net {

bool ConnectionLimiter::add_address(const Peer& peer) {
    if (!counts_by_address(peer)) return true;
    const std::scoped_lock lock{mutex_};
    auto& count = by_address_[peer.address.limit_key()];
    if (count >= limits_.per_address_max) return false;
    ++count;
    return true;
}

void ConnectionLimiter::remove_address(const Peer& peer) {
    if (!counts_by_address(peer)) return;
    const std::scoped_lock lock{mutex_};
    const auto found = by_address_.find(peer.address.limit_key());
    if (found != by_address_.end() && --found->second == 0) by_address_.erase(found);
}

ConnectionLimiter::Admission ConnectionLimiter::admit(const Peer& peer) {
    if (total_.fetch_add(1, std::memory_order_relaxed) >= limits_.total_max) {
        total_.fetch_sub(1, std::memory_order_relaxed);
        return Admission::total_reached;
    }
    if (add_address(peer)) return Admission::admitted;
    total_.fetch_sub(1, std::memory_order_relaxed);
    return Admission::address_reached;
}

void ConnectionLimiter::gone(const Peer& peer) {
    total_.fetch_sub(1, std::memory_order_relaxed);
    remove_address(peer);
}

bool ConnectionLimiter::rename(const Peer& peer, const Peer& other) {
    if (!add_address(other)) return false;
    remove_address(peer);
    return true;
}

namespace {

/// File descriptors for other uses than clients, where there are plenty.
constexpr std::size_t kOtherDescriptors = 3'000;

ConnectionLimits with_reserve(const ConnectionLimits& clients) {
    ConnectionLimits sockets = clients;
    sockets.total_max += Admission::kReserve;
    if (clients.per_address_max > 0) sockets.per_address_max += Admission::kReservePerAddress;
    return sockets;
}

}  // namespace

std::size_t clients_possible(std::size_t wanted, std::size_t descriptors) {
    if (descriptors == 0) return wanted;
    return std::min(wanted, descriptors - std::min(descriptors / 2, kOtherDescriptors));
}

std::size_t descriptors_for(std::size_t connections) {
    return connections + connections / 4 + kOtherDescriptors;
}

Admission::Admission(const ConnectionLimits& clients)
    : sockets_(with_reserve(clients)), clients_(clients) {}

bool Admission::admit_socket(const Peer& peer) {
    return sockets_.admit(peer) == ConnectionLimiter::Admission::admitted;
}

bool Admission::admit_client(const Peer& peer) {
    return clients_.admit(peer) == ConnectionLimiter::Admission::admitted;
}

}  // namespace beckon::net
