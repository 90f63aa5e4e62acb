#pragma once

#include "net/peer_address.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace beckon::net {

struct ConnectionLimits {
    std::size_t total_max = 15'000;
    std::size_t per_address_max = 0;  ///< 0: no limit
};

/// Counts open connections in total and by address: an IPv4 address, or the /64 of an IPv6 one.
/// Thread-safe.
class ConnectionLimiter {
public:
    explicit ConnectionLimiter(const ConnectionLimits& limits) : limits_(limits) {}

    enum class Admission : std::uint8_t { admitted, total_reached, address_reached };
    /// Each `admitted` is followed by gone() with the same peer.
    Admission admit(const Peer& peer);
    void gone(const Peer& peer);
    /// `peer`, which is admitted, turns out to be another one. False: that one has too many
    /// already, and nothing has changed.
    bool rename(const Peer& peer, const Peer& other);

    std::size_t total() const { return total_.load(std::memory_order_relaxed); }

private:
    bool counts_by_address(const Peer& peer) const {
        return limits_.per_address_max > 0 && !peer.exempt;
    }

    bool add_address(const Peer& peer);
    void remove_address(const Peer& peer);

    const ConnectionLimits limits_;
    std::atomic<std::size_t> total_{0};
    std::mutex mutex_;
    std::unordered_map<PeerAddress, std::size_t> by_address_;  ///< under mutex_
};

}  // namespace beckon::net
