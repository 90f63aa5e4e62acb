#include "edge/admission.hpp"

#include <algorithm>
#include <cstring>

#include <netinet/in.h>

namespace beckon::edge {

namespace {

/// File descriptors for what is no client, where there are plenty.
constexpr std::size_t kOtherDescriptors = 3'000;

/// Adds one unless that would exceed `max`.
bool add_below(std::atomic<std::size_t>& count, std::size_t max) {
    if (count.fetch_add(1, std::memory_order_relaxed) < max) return true;
    count.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

}  // namespace

std::size_t clients_possible(std::size_t wanted, std::size_t descriptors) {
    if (descriptors == 0) return wanted;
    return std::min(wanted, descriptors - std::min(descriptors / 2, kOtherDescriptors));
}

PeerKey peer_key(const sockaddr_storage& address) {
    PeerKey key;
    if (address.ss_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &address, sizeof v4);
        key.bits = v4.sin_addr.s_addr;
    } else if (address.ss_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &address, sizeof v6);
        const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
        const auto* bytes = v6.sin6_addr.s6_addr;
        std::memcpy(&key.bits, mapped ? bytes + 12 : bytes, mapped ? 4 : 8);
    }
    return key;
}

bool Admission::admit_socket(PeerKey peer) {
    if (!add_below(sockets_, limits_.clients_max + kReserve)) return false;
    if (limits_.per_address_max == 0) return true;
    const std::scoped_lock lock{mutex_};
    Count& count = peers_[peer];
    if (count.sockets < limits_.per_address_max + kReservePerAddress) {
        ++count.sockets;
        return true;
    }
    sockets_.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

void Admission::socket_gone(PeerKey peer) {
    sockets_.fetch_sub(1, std::memory_order_relaxed);
    if (limits_.per_address_max == 0) return;
    const std::scoped_lock lock{mutex_};
    const auto at = peers_.find(peer);
    if (at != peers_.end() && --at->second.sockets == 0) peers_.erase(at);
}

bool Admission::admit_client(PeerKey peer) {
    if (!add_below(clients_, limits_.clients_max)) return false;
    if (limits_.per_address_max == 0) return true;
    const std::scoped_lock lock{mutex_};
    Count& count = peers_[peer];
    if (count.clients < limits_.per_address_max) {
        ++count.clients;
        return true;
    }
    clients_.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

void Admission::client_gone(PeerKey peer) {
    clients_.fetch_sub(1, std::memory_order_relaxed);
    if (limits_.per_address_max == 0) return;
    const std::scoped_lock lock{mutex_};
    const auto at = peers_.find(peer);
    if (at != peers_.end()) --at->second.clients;
}

}  // namespace beckon::edge
