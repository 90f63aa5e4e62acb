#pragma once

#include "log/event_log.hpp"

#include <chrono>
#include <filesystem>
#include <memory>

namespace beckon::log {

/// When a record counts as durable.
enum class Sync {
    always,    ///< synced to disk before it is answered and before readers see it (promise 1)
    interval,  ///< synced every `sync_interval`: a power loss may take the last ones
    never,     ///< left to the operating system: survives kill -9, not a power loss
};

struct EmbeddedConfig {
    std::filesystem::path directory;
    Sync sync = Sync::always;
    std::chrono::milliseconds sync_interval{100};
    core::Partition partitions = 16;  ///< of every topic keyed by UAID; fixed at the first start
    std::chrono::seconds history_window{std::chrono::hours{24}};
    std::chrono::seconds delete_retention{std::chrono::hours{24 * 7}};
    std::size_t waiting_max = 10'000;    ///< publishes not yet answered; more are `full`
    std::size_t tail_bytes = 32U << 20;  ///< newest records kept in memory for readers
    const core::Clock* clock = nullptr;  ///< not null; outlives the log
};

/// Opens or creates the log. Throws StartupError-like std::runtime_error with one clear line:
/// directory in use by another process, unwritable, other partition count, corrupt.
std::unique_ptr<EventLog> open_embedded_log(const EmbeddedConfig& config);

}  // namespace beckon::log
