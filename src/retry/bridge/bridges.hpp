#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "retry/bridge/bridge_app.hpp"
#include "retry/dispatch/dispatcher.hpp"
#include "retry/tiers/due.hpp"
#include "retry/tiers/tier_table.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace beckon::retry {

/// An app by its bridge and name.
using BridgeAppName = std::pair<core::RouterType, std::string>;
using BridgeApps = std::map<BridgeAppName, std::unique_ptr<BridgeApp>>;

/// Delivers the messages of bridged clients when they are due, and decides the next step
/// (docs/bridges.md#attempts). One attempt at a time for each client, in the order in which its
/// messages became due; a failed message goes on through the tiers until its TTL ends. A message
/// that cannot be attempted now (its app's breaker is open, too many wait for the app, the app is
/// not configured, its TTL may have ended while the host was down) waits in a tier without spending
/// an attempt.
///
/// The end of a message is in the log before its delivery is finished: its milestone, and for a
/// dead token the record that ends the client. On the executor's thread.
class Bridges {
public:
    /// A message with a shorter TTL is still tried once if it is at most this late.
    static constexpr std::chrono::seconds kGrace{5};
    /// The wait of messages for a bridge that cannot be asked now.
    static constexpr std::chrono::seconds kWait{60};
    static constexpr std::chrono::seconds kWaitForPlace{5};
    /// So many refusals of our credentials in a row are reported as a fault that an operator must
    /// mend.
    static constexpr int kRefusalsOfFault = 3;

    struct Options {
        TierTable table;
        core::Partition partitions = 1;
        std::size_t at_a_time = 100;      ///< attempts for each app
        std::size_t waiting_max = 2'000;  ///< for each app; more wait in a tier
        /// No attempt starts that could outlive this.
        std::optional<core::MonoTime> stop_at{};
    };
    struct Context {
        core::Executor& executor;
        const core::Clock& clock;
        log::EventLog& log;
        BridgeObserver& observer;
        core::MilestoneSink* milestones = nullptr;  ///< null: nothing is reported
        WorkJournal::Slot* journal = nullptr;       ///< of this thread; may be null
    };

    Bridges(Options options, Context context, BridgeApps&& apps);
    ~Bridges();

    /// Where the outcomes of deliveries are written; before the first one is due.
    void serve(DeliveryOutcomes& outcomes);

    void due(Due due);
    /// The partition is not this node's any more: its waiting messages are dropped here.
    void forget(core::Partition partition);
    /// Starts nothing more; `done` once nothing is under way, and the outcome of each message is
    /// written.
    void drain(std::function<void()> done);

    struct Counts {
        std::uint64_t expired = 0;
        std::uint64_t parked = 0;        ///< requeued: the breaker is open
        std::uint64_t spilled = 0;       ///< requeued: too many wait for the app
        std::uint64_t unconfigured = 0;  ///< requeued: the app is not configured
        /// Requeued: its TTL may have ended while the host was down (log::EventLog::missing_time).
        std::uint64_t may_have_expired = 0;
        std::uint64_t broken = 0;  ///< deliveries that are no message
        std::uint64_t gone = 0;    ///< tokens that are dead
    };
    const Counts& counts() const;
    std::size_t under_way() const;
    std::size_t waiting() const;

    /// Apps whose credentials are refused or whose breaker is open, and the reason; and apps that
    /// are not configured although messages for them have come since the start.
    std::map<BridgeAppName, std::string> faults() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
