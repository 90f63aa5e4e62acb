#pragma once

#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "records/sender_rule.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

/// The topic `control` (docs/formats/control.md): the settings that all processes must agree on.
namespace beckon::log {

struct Control {
    std::string log_id;  ///< random, written when the log was made; every checkpoint carries it
    std::string created;
    core::Partition partitions = 0;
    std::vector<std::chrono::seconds> tiers;
    std::optional<std::string> keyring_fingerprint;
    /// Every origin that endpoint URLs have begun with: senders use the old ones for ever.
    std::vector<std::string> origins{};
    /// The id of the Kafka cluster at which the log was made; empty: it has none, or is not on
    /// Kafka.
    std::string cluster{};
    bool operator==(const Control&) const = default;
};

/// Reads all of `control`; blocks, main thread only. Errors: not_found (topics were never created),
/// unavailable or timed_out (no broker), corrupt.
core::Result<Control> read_control(EventLog& log, std::chrono::milliseconds timeout);

/// Writes the entries that `previous` lacks or has otherwise; blocks.
core::Result<void> write_control(EventLog& log, const Control& control,
                                 const std::optional<Control>& previous,
                                 std::chrono::milliseconds timeout);

/// Adds one to `Control::origins`; blocks.
core::Result<void> write_origin(EventLog& log, const std::string& origin,
                                std::chrono::milliseconds timeout);

/// The rules of the operator about senders that are in force; blocks. Errors: as read_control().
core::Result<std::vector<core::SenderRule>> read_sender_rules(EventLog& log,
                                                              std::chrono::milliseconds timeout);
/// Writes a rule, or its end; blocks. Errors: invalid (core::check()), full: kBlockedSendersMax are
/// blocked already; and as read_control().
core::Result<void> write_sender_rule(EventLog& log, const core::SenderRule& rule,
                                     std::chrono::milliseconds timeout);

}  // namespace beckon::log
