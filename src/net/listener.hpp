#pragma once

#include "net/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/socket.h>

/// Listening and accepting, for any event loop: nothing here waits.
namespace beckon::net {

struct ListenOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0: any free one
    std::size_t sockets = 1;
    /// Kernel memory for one accepted connection in each direction; 0: the system's own limit,
    /// which is megabytes for a peer that does not read.
    int send_buffer_bytes = 0;
    int receive_buffer_bytes = 0;
};

/// Non-blocking listening sockets on one port; the kernel spreads connections over them
/// (SO_REUSEPORT). Accepted sockets have TCP_NODELAY. Throws std::runtime_error naming host, port
/// and cause; a port that another process listens on is an error, also if that one shares it.
std::vector<Descriptor> listen_shared(const ListenOptions& options);
std::uint16_t port_of(const Descriptor& listener);

enum class AcceptOutcome : std::uint8_t {
    more,       ///< `max` were accepted, and there may be others
    drained,    ///< no peer waits any more
    exhausted,  ///< no descriptors or no memory: pause, since the listener stays readable
};
/// How long to pause then.
inline constexpr int kAcceptPauseMs = 100;

/// The descriptor is non-blocking.
using Accepted = std::function<void(Descriptor socket, const sockaddr_storage& peer)>;
/// A descriptor that the port gives for one more connection where the process has only its last
/// ones left; none: the port has none to give.
using Room = std::function<Descriptor()>;
inline Descriptor no_room() { return {}; }
/// Accepts up to `max` connections. errno has the reason when the outcome is `exhausted`: only the
/// process's last descriptors are left (core::is_reserved()), and there is no room. A connection
/// that took one of those has been closed.
AcceptOutcome accept_some(int listener, int max, const Room& room, const Accepted& accepted);

/// From here on the kernel lets no peer in through this listener: a handshake is left without an
/// answer, until the listener is closed and the peer's next try is refused. Closing it at once
/// would reset connections that the kernel has let in and that are not accepted yet.
void stop_handshakes(int listener);

}  // namespace beckon::net
