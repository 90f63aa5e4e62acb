#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include <sys/socket.h>

namespace beckon::edge {

/// Whom a connection counts against: an IPv4 address, or an IPv6 /64 (one subscriber has a whole
/// /64 to take addresses from).
struct PeerKey {
    std::uint64_t bits = 0;
    bool operator==(const PeerKey&) const = default;
};
PeerKey peer_key(const sockaddr_storage& address);

struct AdmissionLimits {
    std::size_t clients_max = 100'000;
    std::size_t per_address_max = 0;  ///< 0: no limit
};

/// `wanted`, or fewer: as many clients as a process with so many file descriptors (0: unknown) can
/// have beside its store, its log, handshakes and the endpoint in the same process. One that finds
/// no descriptor waits in the kernel's queue without a word; one that is refused hears when to come
/// back.
std::size_t clients_possible(std::size_t wanted, std::size_t descriptors);

/// How many connections a process takes, in total and from one address. WebSocket clients above the
/// limit get a 503 with Retry-After; sockets that are no clients yet (handshakes, health probes,
/// those that are about to get the 503) have a reserve beyond it, so that a full server can still
/// say so. Thread-safe: all shards share one.
class Admission {
public:
    /// Sockets beyond the clients: in total, and for one address.
    static constexpr std::size_t kReserve = 1'024;
    static constexpr std::size_t kReservePerAddress = 16;

    explicit Admission(AdmissionLimits limits) : limits_(limits) {}

    /// At accept; false: not even a handshake. Each true is followed by socket_gone().
    bool admit_socket(PeerKey peer);
    void socket_gone(PeerKey peer);

    /// At the upgrade; each true is followed by client_gone().
    bool admit_client(PeerKey peer);
    void client_gone(PeerKey peer);

    std::size_t sockets() const { return sockets_.load(std::memory_order_relaxed); }

private:
    struct Count {
        std::size_t sockets = 0;
        std::size_t clients = 0;
    };
    struct Hash {
        std::size_t operator()(PeerKey k) const { return std::hash<std::uint64_t>{}(k.bits); }
    };

    const AdmissionLimits limits_;
    std::atomic<std::size_t> sockets_{0};
    std::atomic<std::size_t> clients_{0};
    std::mutex mutex_;  ///< the map; not touched without a limit per address
    std::unordered_map<PeerKey, Count, Hash> peers_;
};

}  // namespace beckon::edge
