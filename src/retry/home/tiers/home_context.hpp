#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/executor.hpp"
#include "log/event_log.hpp"
#include "records/delivery.hpp"
#include "retry/home/tiers/work_journal.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beckon::retry {

/// Where deliveries go; the names are labels of the metric.
enum class DeliveryEnd : std::uint8_t {
    due,                ///< handed on by a tier
    promoted,           ///< to another tier
    dead,               ///< to `retry.dead`
    copy,               ///< recognised and dropped
    broken,             ///< no delivery
    lost,               ///< fell off the log before it was finished
    parked,             ///< requeued: the breaker is open
    spilled,            ///< requeued: more than a share of the window
    followed,           ///< requeued: behind an earlier one of an ordered webhook
    unknown,            ///< requeued or dropped: no such webhook
    unread,             ///< requeued: the log did not give its event
    filter_too_costly,  ///< to `retry.dead` without a result of the filter
};
inline std::string_view to_string(DeliveryEnd end) { return core::name_of(end); }
enum class EventEnd : std::uint8_t { fanned_out, copy, broken };
inline std::string_view to_string(EventEnd end) { return core::name_of(end); }
/// The same of messages for bridges, and dead tokens.
enum class BridgedEnd : std::uint8_t {
    expired,
    parked,            ///< requeued: the breaker is open
    spilled,           ///< requeued: more than a share of the window
    unconfigured,      ///< requeued: the app is not configured
    may_have_expired,  ///< requeued: its TTL may have ended while the host was down
    broken,            ///< no message
    gone,              ///< its token is dead
};
inline std::string_view to_string(BridgedEnd end) { return core::name_of(end); }

/// The counts of one thread's homes, those that it has given up included.
struct Tally {
    core::ByEnum<DeliveryEnd, std::uint64_t> deliveries;
    core::ByEnum<EventEnd, std::uint64_t> events;
    core::ByEnum<BridgedEnd, std::uint64_t> bridged;
    core::ByEnum<Outcome, std::uint64_t> attempts;  ///< at webhooks
    std::uint64_t fan_outs = 0;                     ///< deliveries of events that were written
    std::uint64_t filter_steps = 0;

    Tally& operator+=(const Tally& other) {
        const auto add = [](auto& to, const auto& from) {
            for (std::size_t i = 0; i < to.values.size(); ++i) to.values[i] += from.values[i];
        };
        add(deliveries, other.deliveries);
        add(events, other.events);
        add(bridged, other.bridged);
        add(attempts, other.attempts);
        fan_outs += other.fan_outs;
        filter_steps += other.filter_steps;
        return *this;
    }
};

/// The surroundings of the parts of a thread's homes, which they outlive.
struct HomeContext {
    log::EventLog& log;
    log::Publisher& publisher;
    core::Executor& executor;
    const core::Clock& clock;
    Tally& tally;
    WorkJournal::Slot* journal = nullptr;  ///< of the thread; may be null

    /// As of the journal.
    bool has_ended_processes(const WorkJournal::Piece& piece) const {
        return journal && journal->has_ended_processes(piece);
    }
};

}  // namespace beckon::retry
