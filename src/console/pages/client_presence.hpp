#pragma once

#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/result.hpp"

#include <chrono>
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

/// Asks the edges at their ops ports (inspect/delivery/delivery_pages.hpp). Blocks its caller. Any
/// thread.
class ClientPresence {
public:
    static constexpr std::size_t kEdgesMax = 64;

    /// `own_port`: of the ops port of this process, where it is the edge itself (standalone).
    ClientPresence(std::optional<std::uint16_t> own_port,
                   std::shared_ptr<const core::KeyRing> keys);
    ClientPresence(const ClientPresence&) = delete;
    ClientPresence& operator=(const ClientPresence&) = delete;

    /// `ops_ports`: HOST:PORT of each edge's.
    void use_edges(const std::vector<std::string>& ops_ports);
    Presence of(const core::Uaid& client) const;
    /// The answer of the edge that is the home of the client to a GET of `target`, which names the
    /// client: a JSON object. `timeout`: of each edge. Errors: unavailable: no edge that answers
    /// serves the client; the text names those that were asked.
    core::Result<std::string> ask_home(
        const std::string& target,
        std::chrono::milliseconds timeout = std::chrono::milliseconds{1'000}) const;

private:
    const bool standalone_;
    const std::shared_ptr<const core::KeyRing> keys_;
    mutable std::mutex mutex_;
    std::vector<std::string> edges_;  ///< HOST:PORT; under mutex_
};

/// Reads the answer of an edge. nullopt: the edge does not serve the client, or the text is no
/// answer. Pure.
std::optional<Presence> parse_presence(const std::string& json);

}  // namespace beckon::console
