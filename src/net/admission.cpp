#include "net/admission.hpp"

#include <algorithm>

namespace beckon::net {

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
