#pragma once

#include "cluster/partition_lease.hpp"
#include "core/backoff.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "fold/restored.hpp"
#include "fold/topic_state.hpp"
#include "retry/home/delivery_options.hpp"
#include "retry/home/fan_out/event_fan_out.hpp"
#include "retry/home/tiers/home_context.hpp"
#include "retry/home/tiers/partition_tiers.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

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

    /// The calls of all homes to their owner.
    struct Events {
        std::function<void(Due)> due;
        /// It serves, or does not and why (empty: it is being taken over). While there is a reason
        /// it hands on nothing; what was handed on goes on.
        std::function<void(core::Partition, bool serving, const std::string& fault)> serving;
        /// Deliveries that were handed on and not answered are void.
        std::function<void(core::Partition)> ended;
        std::function<void(core::Partition, core::Offset next)> fanned_out_up_to;
        /// The highest epoch that `ownership` shows for the partition.
        std::function<core::Epoch(core::Partition)> highest_epoch;
    };
    struct Context {
        EventFanOut::Context fan_out;
        const DeliveryOptions& options;
        const Events& events;
    };

    PartitionHome(core::Partition partition, Context context);
    ~PartitionHome();
    PartitionHome(const PartitionHome&) = delete;
    PartitionHome& operator=(const PartitionHome&) = delete;

    void start();
    /// The tiers while it serves; nullptr otherwise.
    const PartitionTiers* tiers() const { return served_ ? tiers_.get() : nullptr; }
    /// Likewise, if it serves under this epoch.
    PartitionTiers* tiers(core::Epoch epoch) {
        return served_ && epoch_ == epoch ? tiers_.get() : nullptr;
    }
    /// Events may be read again.
    void read_on();
    /// How much of its tiers has been read; nullopt: no take-over is under way.
    std::optional<fold::Restored> taking_over() const;

    /// Fans out and hands on nothing more, writes the finished records and stops; answers when the
    /// log has them or has failed.
    void stop(std::function<void()> stopped);

private:
    const HomeContext& home() const { return context_.fan_out.home; }
    void report(bool serving) const { context_.events.serving(partition_, serving, fault_); }
    log::TopicPartition at(log::Topic topic) const { return {topic, partition_}; }
    void end();
    void start_again(const core::Error& why);
    void start_again_soon(const core::Error& why);
    void read_anew();
    void state_changed();
    void read(const core::RecordView& record);
    void serve(core::Epoch epoch);
    void started();
    void begin_fan_out();
    void fan_out_from_recorded();

    const core::Partition partition_;
    const Context context_;

    std::unique_ptr<cluster::PartitionLease> lease_;
    bool claimed_ = false;
    std::optional<DoneRecord> done_;
    std::unique_ptr<PartitionTiers> tiers_;
    std::unique_ptr<EventFanOut> fan_out_;  ///< reports to the tiers
    core::MonoTime took_{};                 ///< when the tiers were made
    core::Epoch epoch_ = 0;
    bool served_ = false;
    bool stopped_ = false;
    std::string fault_;  ///< why it does not serve; empty while it does, or is only starting
    core::Backoff again_{kStartAgain, kStartAgainMost};
    core::Lifetime life_;                      ///< renewed by a new start: former steps are void
    std::unique_ptr<fold::TopicState> state_;  ///< of `retry.done`; first to go: it calls us
};

}  // namespace beckon::retry
