#pragma once

#include "bridge/message.hpp"
#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "core/milestone.hpp"
#include "retry/attempt/bridge/bridge_app.hpp"
#include "retry/home/queue/attempt_queue.hpp"
#include "retry/home/queue/breaker.hpp"
#include "retry/home/tiers/due.hpp"
#include "retry/home/tiers/home_context.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace beckon::retry {

/// An app by its bridge and name.
using BridgeAppName = std::pair<core::RouterType, std::string>;
using BridgeApps = std::map<BridgeAppName, std::unique_ptr<BridgeApp>>;

/// The apps that have accepted a message since the process began: our credentials are right. Any
/// thread.
class ProvenApps {
public:
    void add(const BridgeAppName& name) {
        const std::scoped_lock lock{mutex_};
        names_.insert(name);
    }
    bool has(const BridgeAppName& name) const {
        const std::scoped_lock lock{mutex_};
        return names_.contains(name);
    }

private:
    mutable std::mutex mutex_;
    std::set<BridgeAppName> names_;
};

/// Delivers the messages of bridged clients when they are due, and decides the next step
/// (docs/bridges.md#attempts). In the queue an app is an owner: one attempt at a time for each
/// client. A failed message goes on through the tiers until its TTL ends. A message that cannot be
/// attempted now (its app's breaker is open, the app has its share of the window, it is not
/// configured, its TTL may have ended while the host was down) waits in a tier without spending an
/// attempt.
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

    struct Context {
        HomeContext home;
        AttemptQueue& queue;
        DeliveryOutcomes& outcomes;
        ProvenApps& proven;                         ///< of the process
        BridgeObserver* observer = nullptr;         ///< null: there are no apps
        core::MilestoneSink* milestones = nullptr;  ///< null: nothing is reported
    };

    Bridges(DeliveryOptions options, Context context, BridgeApps&& apps);

    void due(Due due);
    /// A message is next in the queue.
    void begin(Job job);

    std::size_t under_way() const { return sum_of(&Scheduler::in_flight_of); }
    std::size_t waiting() const { return sum_of(&Scheduler::waiting_of); }
    /// Apps whose credentials are refused or whose breaker is open, and the reason; and apps that
    /// are not configured although messages for them have come since the start.
    std::map<BridgeAppName, std::string> faults() const;

private:
    struct App {
        std::unique_ptr<BridgeApp> app;
        Breaker breaker;
        int refusals = 0;       ///< of our credentials, in a row
        std::string fault;      ///< why it needs a person; empty: it does not
        std::string_view kind;  ///< of the fault: the line that was logged for it
    };
    struct BridgedJob {
        Job job;
        bridge::BridgedMessage message;
        const Due& due() const { return job.due; }
        core::Timestamp expires() const;
    };

    std::size_t sum_of(std::size_t (Scheduler::*of_owner)(std::string_view) const) const;
    App* app_of(const bridge::BridgedMessage& message);
    core::Timestamp now(const BridgedJob& job) const;
    bool put_aside(const BridgedJob& job);
    void not_configured(const BridgedJob& job);
    void wait(const BridgedJob& job, core::Duration how_long, BridgedEnd why);
    core::Duration missing_time(const BridgedJob& job) const;
    void ended(App& app, const BridgedJob& job, const BridgeVerdict& verdict, core::Duration took,
               bool ours);
    void judge_app(App& app, const BridgedJob& job, const BridgeVerdict& verdict);
    static void set_fault(App& app, const BridgedJob& job, std::string_view kind, std::string why);
    void follow(const BridgedJob& job, const BridgeVerdict& verdict);
    void dead_letter(const BridgedJob& job, Outcome as, const std::string& why);
    void failed(const BridgedJob& job, const BridgeVerdict& verdict);
    std::optional<int> next_step(const BridgedJob& job, std::chrono::seconds not_before) const;
    void expire(const BridgedJob& job);
    void report_gone(const BridgedJob& job, const std::string& why);
    void reached_then(const BridgedJob& job, core::Milestone milestone, std::function<void()> then);
    void count(BridgedEnd end) const { ++context_.home.tally.bridged[end]; }

    const DeliveryOptions options_;
    const Context context_;
    std::map<BridgeAppName, App> apps_;
    std::map<BridgeAppName, std::string> unknown_apps_;  ///< named once each
    core::Lifetime lifetime_{context_.home.executor};
};

}  // namespace beckon::retry
