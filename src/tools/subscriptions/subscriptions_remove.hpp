#pragma once

#include "app/config/config.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <string>

/// `beckon subscriptions remove`: ends a client with all that the log has of it.
namespace beckon::tools {

/// Keys of a client whose newest record has a value: what compaction keeps.
struct LeftInLog {
    std::size_t messages = 0;      ///< of `notifications`
    std::size_t subscription = 0;  ///< the client and its channels
    std::size_t dead_tokens = 0;   ///< reports of a bridge that a token is dead
    std::size_t all() const { return messages + subscription; }
};
/// Reads the client's partition of both log topics. `timeout`: for each record. Errors: those of
/// log::read_partition().
core::Result<LeftInLog> left_in_log(log::EventLog& log, const core::Uaid& client,
                                    core::Partition partitions, std::chrono::milliseconds timeout);

/// Prints the client that a UAID or an endpoint URL names and what the log has of it. With `yes`
/// its home ends it, with its channels and messages, and the log is read until tombstones alone are
/// left (docs/personal-data.md). kNothingFound: the log has nothing of it. kFailed: something is
/// left after half a minute. Throws StartupError: it names no client of this installation, the log
/// cannot be read, or no edge that answers is its home.
int subscriptions_remove(app::Config config, const std::string& whom, bool yes);

}  // namespace beckon::tools
