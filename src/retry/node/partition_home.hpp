#pragma once

#include "cluster/partition_lease.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "fold/restored.hpp"
#include "log/event_log.hpp"
#include "retry/event/event_fan_out.hpp"
#include "retry/tiers/partition_tiers.hpp"
#include "retry/webhook/directory.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::retry {

/// One partition on a node that is, or wants to be, its home: reads `retry.done` p, takes the lease
/// there once a read barrier has passed, and then runs the partition's tiers and fans out its
/// events. A home that reads a lease of a higher epoch stops at once; while it cannot read
/// `retry.done` it hands on nothing; when something else fails it starts over after a pause
/// (core::Backoff), which grows up to kStartAgainMost until it has served. On the executor's
/// thread.
class PartitionHome {
public:
    static constexpr core::Duration kStartAgain = std::chrono::seconds{1};
    static constexpr core::Duration kStartAgainMost = std::chrono::seconds{30};

    struct Options {
        core::Partition partition = 0;
        TierTable table;
        core::NodeId node;
        core::Partition partitions = 1;
        std::size_t window_max = 4'096;
    };
    struct Context {
        log::EventLog& log;
        log::Publisher& publisher;
        core::Executor& executor;
        const core::Clock& clock;
        const WebhookDirectory& webhooks;
        FanOutTurns& turns;
        EventCache& cache;
        WorkJournal::Slot* journal = nullptr;  ///< of this thread; may be null
        /// The highest epoch that `ownership` shows for the partition.
        std::function<core::Epoch()> highest_epoch;
    };
    struct Events {
        std::function<void(Due)> due;
        /// It serves, or serves no more: deliveries that were handed on and not answered are void.
        std::function<void(bool serving)> serving;
        /// It starts over after a pause, or hands on nothing until serving() is called again.
        std::function<void(const std::string& why)> failed = [](const std::string&) {};
        /// As of EventFanOut; after a no the owner calls read_on() later.
        std::function<bool()> may_read = [] { return true; };
        std::function<bool(const WebhooksChanged&)> has_read = [](const auto&) { return true; };
    };

    PartitionHome(Options options, Context context, Events events);
    ~PartitionHome();
    PartitionHome(const PartitionHome&) = delete;
    PartitionHome& operator=(const PartitionHome&) = delete;

    void start();
    /// The tiers while it serves under this epoch; nullptr otherwise.
    PartitionTiers* tiers(core::Epoch epoch);
    bool serving() const;
    /// Events may be read again.
    void read_on();
    /// Why it does not serve; empty while it does, or is only starting.
    const std::string& fault() const;
    /// How much of its tiers has been read; nullopt: no take-over is under way.
    std::optional<fold::Restored> taking_over() const;
    PartitionTiers::Counts counts() const;
    /// Since it was made.
    EventFanOut::Counts event_counts() const;
    /// The states of its tiers; empty while it does not serve.
    std::vector<TierState> tier_states() const;
    /// Events of its partition below are fanned out; nullopt while it does not serve.
    std::optional<core::Offset> events_next() const;

    /// Fans out and hands on nothing more, writes the finished records and stops; answers when the
    /// log has them or has failed.
    void stop(std::function<void()> stopped);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
