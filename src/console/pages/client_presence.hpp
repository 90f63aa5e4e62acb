#pragma once

#include "core/ids.hpp"
#include "core/key_ring.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace beckon::console {

/// Whether a client is connected, as the edge that has its partition says.
struct Presence {
    bool connected = false;
    std::optional<std::int64_t> since_ms = std::nullopt;  ///< when its home attached it, Unix time
    std::string edge;                                     ///< the node that holds the connection
    std::uint64_t unanswered = 0;  ///< messages that were sent to it and wait for the answer
    std::string problem;           ///< why the edge could not be asked; empty: it answered
};

/// Asks the edges at their ops ports (`/delivery/client`). The host of an edge's ops port is that
/// of its link address, the port is that of this process's own ops port. Blocks its caller. Any
/// thread.
class ClientPresence {
public:
    static constexpr std::size_t kEdgesMax = 64;

    /// `port` 0: presence is not known. `standalone`: this process is the edge.
    ClientPresence(std::uint16_t port, bool standalone, std::shared_ptr<const core::KeyRing> keys);
    ClientPresence(const ClientPresence&) = delete;
    ClientPresence& operator=(const ClientPresence&) = delete;

    void use_edges(const std::vector<std::string>& link_addresses);
    Presence of(const core::Uaid& client) const;

private:
    const std::uint16_t port_;
    const bool standalone_;
    const std::shared_ptr<const core::KeyRing> keys_;
    mutable std::mutex mutex_;
    std::vector<std::string> hosts_;  ///< under mutex_
};

/// Reads the answer of an edge. nullopt: the edge does not serve the client, or the text is no
/// answer. Pure.
std::optional<Presence> parse_presence(const std::string& json);

}  // namespace beckon::console
