#pragma once

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

/// Asks the homes of clients, at the ops ports of the edges (inspect/delivery/delivery_pages.hpp).
/// Blocks its caller. Any thread.
class ClientHomes {
public:
    static constexpr std::size_t kEdgesMax = 64;

    /// `own_port`: of the ops port of this process, where it is the edge itself (standalone).
    ClientHomes(std::optional<std::uint16_t> own_port, std::shared_ptr<const core::KeyRing> keys);
    ClientHomes(const ClientHomes&) = delete;
    ClientHomes& operator=(const ClientHomes&) = delete;

    /// `ops_ports`: HOST:PORT of each edge's.
    void use_edges(const std::vector<std::string>& ops_ports);
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

}  // namespace beckon::console
