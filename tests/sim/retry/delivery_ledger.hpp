#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "records/delivery.hpp"
#include "records/done.hpp"
#include "retry/event/event.hpp"
#include "support/memory_log.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beckon::sim {

/// The log's account of events and deliveries, for a reader that reads all of it at once and
/// forgets nothing. The simulation judges the processes by it, which read the same log late. It
/// decodes records with the product's code; the rules are its own.
class DeliveryLedger {
public:
    struct Options {
        core::Partition partitions = 1;
        std::map<int, std::chrono::seconds> delays;  ///< of each tier
        const log::MemoryLog& log;
        /// When the record at this offset was appended, by true time.
        std::function<core::MonoTime(const log::TopicPartition&, core::Offset)> appended_at;
    };
    struct Events {
        /// Another node has the newest lease of the partition than before.
        std::function<void(core::Partition, const std::string& before)> lease_moved;
        /// A record of a tier or of `retry.dead`.
        std::function<void(core::Partition, const std::string& delivery, core::MonoTime at)>
            written;
    };

    /// A record of a tier.
    struct Written {
        int tier = 0;
        core::Offset offset = 0;
        std::uint32_t hop = 0;
        std::uint32_t attempts = 0;
        core::MonoTime appended;
        /// The greatest time that its partition had shown when it was appended, and the delay.
        core::Timestamp due;
        bool redriven = false;
    };
    /// One delivery, by its id.
    struct Known {
        std::string webhook;
        core::Partition partition = 0;
        std::vector<Written> written;
        std::uint32_t hop = 0;                ///< the highest, dead letters too
        std::optional<std::uint32_t> letter;  ///< hop of the dead letter that is open
        bool dropped = false;                 ///< somebody has dropped its letter
    };
    struct SeenEvent {
        retry::Event event;
        core::Partition partition = 0;
        core::Offset offset = 0;
        core::MonoTime appended;
    };
    struct StateChange {
        core::MonoTime at;
        bool enabled = true;
    };

    DeliveryLedger(Options options, Events events);

    /// Folds what is new.
    void read();

    const Known* find(const std::string& delivery) const;
    const std::map<std::string, Known>& deliveries() const { return deliveries_; }
    /// Without copies, in the order in which they were seen.
    const std::vector<SeenEvent>& events() const { return events_; }
    const std::vector<StateChange>& states_of(const std::string& webhook) const;
    std::chrono::seconds delay(int tier) const { return options_.delays.at(tier); }
    /// The node that holds the newest lease of the partition; empty: none.
    const std::string& holder(core::Partition p) const { return of(p).holder; }
    /// When that lease was appended: a home that could not go on may take a new one itself.
    core::MonoTime leased_at(core::Partition p) const { return of(p).leased_at; }
    /// Whether `retry.done` says that this record, or one of which it is a copy, needs no attempt.
    bool is_finished(const Known& known, const Written& record) const;
    /// Whether everything in the partition's tiers is finished.
    bool all_finished(core::Partition p) const;
    std::string unfinished(core::Partition p) const;

private:
    struct OfPartition {
        core::Epoch epoch = 0;
        std::string holder;
        core::MonoTime leased_at{};
        retry::DoneRecord done{};
    };
    const OfPartition& of(core::Partition p) const {
        return partitions_[static_cast<std::size_t>(p)];
    }
    template <class F>
    void each_new(const log::TopicPartition& where, F f);
    void read_tier(core::Partition p, int tier);
    void read_letters(core::Partition p);
    void read_done(core::Partition p);
    void read_events(core::Partition p);
    void read_webhooks(core::Partition p);
    bool is_finished(core::Partition p, int tier, core::Offset offset) const;
    Known& known(const retry::Delivery& delivery, core::Partition p);

    const Options options_;
    const Events notify_;
    std::map<log::TopicPartition, core::Offset> next_;
    std::map<log::TopicPartition, core::Timestamp> greatest_;  ///< append time
    std::vector<OfPartition> partitions_;
    std::map<std::string, Known> deliveries_;
    std::vector<SeenEvent> events_;
    std::map<std::pair<std::string, std::string>, std::size_t> event_names_;
    std::map<std::string, std::vector<StateChange>> states_;
};

}  // namespace beckon::sim
