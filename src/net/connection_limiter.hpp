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

/// `wanted`, or fewer: as many clients as a process with so many file descriptors (0: unknown) can
/// have beside its store, its log, handshakes and the endpoint in the same process. One that finds
/// no descriptor waits in the kernel's queue without an answer; one that is refused receives when
/// to come back.
std::size_t clients_possible(std::size_t wanted, std::size_t descriptors);

/// The limit of file descriptors that suffices for so many connections of one port, for other uses
/// than clients, and for the other port of a standalone.
std::size_t descriptors_for(std::size_t connections);

/// How many WebSocket clients a process takes, in total and from one address. Clients above the
/// limit get a 503 with Retry-After; sockets that are no clients yet (handshakes, health probes,
/// those that are about to get the 503) have a reserve beyond it, so that a full server can still
/// answer. Thread-safe: all shards share one.
class Admission {
public:
    /// Sockets beyond the clients: in total, and for one address.
    static constexpr std::size_t kReserve = 1'024;
    static constexpr std::size_t kReservePerAddress = 16;

    explicit Admission(const ConnectionLimits& clients);

    /// At accept; false: not even a handshake. Each true is followed by socket_gone().
    bool admit_socket(const Peer& peer);
    void socket_gone(const Peer& peer) { sockets_.gone(peer); }
    /// A socket of `peer` turns out to be one of `other`; false: which has too many already.
    bool rename_socket(const Peer& peer, const Peer& other) { return sockets_.rename(peer, other); }

    /// At the upgrade; each true is followed by client_gone().
    bool admit_client(const Peer& peer);
    void client_gone(const Peer& peer) { clients_.gone(peer); }

    std::size_t sockets() const { return sockets_.total(); }

private:
    ConnectionLimiter sockets_;
    ConnectionLimiter clients_;
};

}  // namespace beckon::net
