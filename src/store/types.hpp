#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "records/events.hpp"
#include "records/expiry.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The types of the stores' rows and results, which all other files of this folder use.
namespace beckon::store {

/// The rows of a client's channels.
struct ChannelCount {
    std::size_t living = 0;
    std::size_t rows = 0;  ///< those of removed channels included, which are remembered for a day
};

/// How many channels a client may have, and how many more it may have removed within a day: all
/// their rows are read to count its channels, and to remove it.
struct ChannelLimit {
    std::size_t channels_max = 1'000;

    std::size_t rows_max() const { return 2 * channels_max; }
    /// How many may be added to those.
    std::size_t left(const ChannelCount& count) const {
        return std::min(channels_max - std::min(channels_max, count.living),
                        rows_max() - std::min(rows_max(), count.rows));
    }
};

/// A waiting message, as a drain passes it on; views end with the call.
struct MessageView {
    core::Offset offset = 0;  ///< its order
    core::Timestamp appended{};
    core::Timestamp expiry{};  ///< append time + TTL, kTtlMax at most
    core::MessageKey key;
    core::ChannelId channel;
    std::string_view message_id;  ///< `version`
    std::optional<std::string_view> topic;
    std::optional<std::string_view> encoding;
    std::optional<std::string_view> encryption;
    std::optional<std::string_view> crypto_key;
    std::optional<std::string_view> reliability_id;
    std::string_view body;
    bool operator==(const MessageView&) const = default;
};

using core::kTtlMax;  ///< bounds the number of month families too

struct StoredClient {
    core::RouterType router_type = core::RouterType::webpush;
    std::string router_data;
    core::Timestamp created{};
    core::Timestamp last_seen{};
    std::optional<core::WriteStamp> stamp;
    bool operator==(const StoredClient&) const = default;
};

/// Some living clients of a partition, ascending.
struct ClientPage {
    std::vector<std::pair<core::Uaid, StoredClient>> clients;
    std::optional<core::Uaid> next;  ///< more may stand behind this one; nullopt: none do
};

struct StoredChannel {
    core::ChannelId channel;
    core::Timestamp created{};
    std::string vapid_sha256;  ///< hex; empty if unbound
    std::optional<core::WriteStamp> stamp;
    bool operator==(const StoredChannel&) const = default;
};

/// The two log topics that a partition of the store is folded from.
enum class Source : std::uint8_t { notifications, subscriptions };

/// How messages are distributed over families. Changing it rebuilds the store from the log.
enum class Rotation : std::uint8_t { monthly, daily, off };

/// The outcome of put().
enum class PutOutcome {
    pending,   ///< stored; deliver or keep
    ttl_zero,  ///< send now or never; its tombstone is pending already
    finished,  ///< its tombstone came first: nothing to deliver, a tombstone is pending
    repeated,  ///< folded before; nothing changed
};

/// A tombstone that the serving home must publish until it is read back.
struct PendingTombstone {
    core::Uaid uaid;
    core::MessageKey key;
    core::FinishReason reason = core::FinishReason::acked;
    core::Offset put_offset = 0;  ///< publish in this order: replaced ones before their replacement
    /// Of a tracked message. It stays here until the tombstone is read back, so that the publisher
    /// of the pending tombstone can report the end again.
    struct End {
        core::Tracked message;
        /// Its last one; nullopt: this end is not reported.
        std::optional<core::Milestone> milestone = std::nullopt;
        bool operator==(const End&) const = default;
    };
    std::optional<End> end{};
    /// The milestone of a tracked message whose end is to be reported.
    std::optional<core::Milestone> milestone() const { return end ? end->milestone : std::nullopt; }
    bool operator==(const PendingTombstone&) const = default;
};

/// A client, or one of its channels, whose last record in the log is one that lost.
struct StaleWrite {
    core::Uaid uaid;
    std::optional<core::ChannelId> channel;
    auto operator<=>(const StaleWrite&) const = default;
};

/// The result of take_new_pending_tombstones().
struct NewPendingTombstones {
    std::vector<PendingTombstone> pending_tombstones;
    bool left_out =
        false;  ///< there were more than it remembers: read them with pending_tombstones_after()
};

/// A pending message that a read has found to be past its expiry.
struct ExpiredMessage {
    core::MessageKey key;
    core::Offset offset = 0;
    core::Timestamp expiry{};
    bool has_topic = false;
};

/// Where a drain stands: Topic messages first, then the others, each by offset
/// (docs/design.md#delivery). A drain ends below `until`, so that no message that is folded
/// meanwhile is sent twice: set it to the checkpoint of `notifications` when the drain begins. A
/// drain passes over messages below `from`.
struct DrainCursor {
    bool topics = true;
    core::Offset after = -1;
    core::Offset until = 0;
    core::Offset from = 0;
};

struct ReadOutcome {
    std::size_t messages = 0;  ///< may be 0 without `done`: all messages so far had expired
    bool done = false;         ///< nothing is left before the cursor's `until`
    /// The skipped messages; pass them to PartitionStore::expire().
    std::vector<ExpiredMessage> expired;
};

}  // namespace beckon::store
