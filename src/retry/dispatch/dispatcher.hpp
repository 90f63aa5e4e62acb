#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "retry/attempt/attempt_outcome.hpp"
#include "retry/attempt/http_request.hpp"
#include "retry/dispatch/attempt_engine.hpp"
#include "retry/dispatch/delivery_line.hpp"
#include "retry/dispatch/recent_attempts.hpp"
#include "retry/event/event_reader.hpp"
#include "retry/schedule/breaker.hpp"
#include "retry/schedule/requeues.hpp"
#include "retry/schedule/scheduler.hpp"
#include "retry/tiers/due.hpp"
#include "retry/tiers/tier_table.hpp"
#include "retry/webhook/directory.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::retry {

/// Where a delivery's outcome is written; by the partition's tiers.
class DeliveryOutcomes {
public:
    virtual ~DeliveryOutcomes() = default;
    virtual void finish(const Ticket& ticket) = 0;
    virtual void promote(const Ticket& ticket, Delivery delivery, int tier) = 0;
    virtual void dead_letter(const Ticket& ticket, Delivery delivery) = 0;
};

/// The resources of a process that the webhooks of one owner have used.
struct OwnerUsage {
    std::uint64_t attempts = 0;
    std::uint64_t delivered = 0;
    std::uint64_t bytes = 0;     ///< of the events that were sent
    std::uint64_t requeued = 0;  ///< deliveries for which the owner's share of a window was full
    core::Duration time{};       ///< of all attempts together
    std::size_t under_way = 0;
    std::size_t waiting = 0;
    OwnerUsage& operator+=(const OwnerUsage& other);
};

/// Takes due deliveries, attempts each when the scheduler chooses it, and decides its next step
/// (docs/webhooks.md#attempts). A delivery that cannot be attempted now (its breaker is open, its
/// webhook holds its part of the window, or an earlier one of an ordered webhook has failed) waits
/// in a tier without spending an attempt. So does one whose event cannot be read at present; if the
/// log has the event no more, the delivery is a dead letter.
///
/// On the executor's thread.
class Dispatcher {
public:
    /// An unknown webhook may have been made on another node a moment ago: a delivery that is new
    /// and not as old as this waits once for so long. Any other is dropped after a later read of
    /// all records of `webhooks`, so deleting a webhook ends what waits for it.
    static constexpr std::chrono::seconds kUnknownFor = std::chrono::minutes{2};
    static constexpr std::chrono::seconds kUnknownWaits{5};
    static constexpr std::chrono::seconds kUnreadWaits{5};
    /// While deliveries wait, the dispatcher asks the scheduler at least so often.
    static constexpr core::Duration kPollAgain = std::chrono::milliseconds{100};
    /// Attempts that are begun in one turn of the thread; some tenths of a millisecond. A turn
    /// that has lasted kTurn begins no more of them: attachments may take long.
    static constexpr std::size_t kStartsPerTurn = 4;
    static constexpr core::Duration kTurn = std::chrono::microseconds{125};
    /// The most webhooks that are remembered: so many, or twice as many as there are.
    static constexpr std::size_t kRememberedMin = 1'000;
    static constexpr std::size_t kOwnersMax = 1'000;

    struct Options {
        TierTable table;
        Scheduler::Options schedule{};
        std::chrono::seconds age_max = std::chrono::hours{24 * 7};
        /// A webhook that has accepted nothing for so long is disabled.
        std::chrono::seconds failing_max = std::chrono::hours{24 * 5};
        /// No attempt starts that could outlive this.
        std::optional<core::MonoTime> stop_at{};
    };
    struct Context {
        core::Executor& executor;
        const core::Clock& clock;
        const WebhookDirectory& webhooks;
        EventReader& events;
        DeliveryOutcomes& outcomes;
        SendRequest send;
        /// Publishes a webhook's state: disabled, or when it began to fail.
        std::function<void(const std::string& webhook, const WebhookState&)> change_state;
        /// Reads all records of this webhook up to now, and answers true; false: that is not
        /// possible at present.
        std::function<void(const std::string& webhook, std::function<void(bool)>)> catch_up;
        /// An attempt has ended; may be empty.
        std::function<void(const std::string& webhook, const Attempt&)> attempted{};
        /// Of this thread; a delivery that ended two processes becomes a dead letter. May be null.
        WorkJournal::Slot* journal = nullptr;
    };

    Dispatcher(Options options, Context context);

    void due(Due due);
    /// The partition is not this node's any more: its waiting deliveries are dropped here.
    void forget(core::Partition partition);

    /// Starts no more attempts; calls `done` once none is under way.
    void drain(std::function<void()> done);
    /// Starts attempts again; a `done` that was not called yet is dropped.
    void resume();

    struct Counts {
        std::map<Outcome, std::uint64_t> attempts;
        std::uint64_t parked = 0;    ///< requeued: the breaker is open
        std::uint64_t spilled = 0;   ///< requeued: more than a share of the window
        std::uint64_t followed = 0;  ///< requeued: behind an earlier one of an ordered webhook
        std::uint64_t unknown = 0;   ///< dropped: no such webhook
        std::uint64_t unread = 0;    ///< requeued: the log did not give their event
    };
    const Counts& counts() const { return counts_; }
    std::size_t under_way() const { return scheduler_.in_flight(); }
    std::size_t waiting() const { return scheduler_.waiting(); }
    /// The resources that each owner has used since this dispatcher began; at most kOwnersMax
    /// owners, or twice as many as have webhooks.
    const std::map<std::string, OwnerUsage, std::less<>>& usage() const { return usage_; }
    /// An owner's usage, with its deliveries that wait and are under way.
    OwnerUsage usage_of(std::string_view owner) const;
    /// The number of webhooks with remembered state: breaker, failures, waiting deliveries.
    std::size_t remembered() const { return receivers_.size(); }
    /// The last attempts (RecentAttempts::Limits), the newest first.
    std::vector<Attempt> attempts_of(std::string_view webhook) const;
    AttemptSummary summary_of(std::string_view webhook) const;
    std::vector<AttemptHour> hours_of(std::string_view webhook) const;

private:
    /// The state of a webhook that is remembered while it matters.
    struct Receiver {
        Receiver(LinePlaces& places, const std::string& of) : owner(of), line(places, of) {}
        const std::string owner;
        Breaker breaker;
        std::optional<core::Timestamp> failing_since;
        bool failing_published = false;  ///< the log knows, or will
        /// Of an ordered webhook: the deliveries that are here or wait in tiers, in their order.
        DeliveryLine line;
        struct Beyond {
            std::string last;  ///< delivery for which the line had no space
            int tier = 0;      ///< in which that waits
        };
        /// Until the last of these is in the line or over, new deliveries wait behind it.
        std::optional<Beyond> beyond_line;
        /// URL and `request_origin` for which the receiver has allowed events.
        std::pair<std::string, std::string> allowed{};
        Requeues requeues;
        core::Partition partition = 0;  ///< of its deliveries
    };

    Receiver& receiver(const std::string& webhook);
    void forget_deleted();
    template <class Map>
    void make_space_for(const std::string& owner, Map& by_owner, std::size_t& sweep_at) const;
    Requeues& requeues_of(const std::string& owner);
    void forget_requeues(const Receiver& receiver);
    std::optional<int> tier_by_requeues(const Receiver& receiver, core::Duration how_long);
    bool put_aside(const Due& due, const WebhookDirectory::Entry* entry);
    bool put_behind(const Due& due, const Webhook& webhook);
    bool wait_for_breaker(const Due& due);
    void wait(const Due& due, core::Duration how_long, std::uint64_t& count);
    std::optional<int> tier_for_wait(const Due& due, core::Duration how_long);
    void promote(const Due& due, int tier);
    void came_back(const Due& due);
    void dead_letter(const Due& due, Outcome why);
    void not_known(const Due& due);
    void caught_up(const std::string& webhook, bool all_read);
    void take(Due due);
    OwnerUsage& usage_by(const std::string& owner);
    core::Timestamp log_time(const Due& due) const { return log_now(due, context_.clock.mono()); }

    void pump();
    void poll_again();
    void begin(Job job, EventText event);
    void read(Job job);
    void was_read(std::uint64_t attempt, const core::Result<EventText>& event);
    void start(Job started, const WebhookDirectory::Entry& entry, const EventText& event);
    void send(HttpRequest request, const Webhook& webhook, std::function<void(HttpAnswer)> done);
    void give_back(const Job& job);
    void ended(const Job& job, core::Timestamp at, const HttpAnswer& answer, bool ours);
    void count(const Job& job, const HttpAnswer& answer, Outcome outcome);
    void remember(const Job& job, core::Timestamp at, const HttpAnswer& answer, Outcome outcome);
    void follow(const Job& job, const Verdict& verdict);
    void failed(const Job& job, const Verdict& verdict);
    static void forget_failures_before(Receiver& receiver,
                                       std::optional<core::Timestamp> enabled_at);
    void judge_receiver(const Job& job, const HttpAnswer& answer, Outcome outcome);
    void receiver_works(const Job& job, Receiver& receiver, WebhookState state);
    void leave_line(const Delivery& delivery);
    bool is_next(Receiver& receiver, const std::string& delivery) const;
    int wait_in_line(Receiver& receiver, const Due& due, int tier);
    static DeliveryLine::Place* enter_line(Receiver& receiver, const std::string& id, bool is_new);

    const Options options_;
    const Context context_;
    Scheduler scheduler_;
    LinePlaces line_places_;
    std::map<std::string, Receiver, std::less<>> receivers_;
    std::size_t sweep_at_ = kRememberedMin;  ///< receivers, for those that were deleted
    RecentAttempts attempts_;
    Counts counts_;
    std::map<std::string, OwnerUsage, std::less<>> usage_;
    std::size_t sweep_usage_at_ = kOwnersMax;
    std::map<std::string, Requeues, std::less<>> requeues_;  ///< of each owner
    std::size_t sweep_requeues_at_ = kOwnersMax;
    /// Deliveries of unknown webhooks, while the log's records of these are read.
    std::map<std::string, std::vector<Due>> unknown_;
    std::map<std::uint64_t, Job> reading_;  ///< by attempt: their event is being read
    std::vector<Due> read_in_drain_;        ///< they are taken again if the drain is called off
    bool poll_posted_ = false;
    AttemptEngine engine_;
    core::Lifetime lifetime_{context_.executor};
};

}  // namespace beckon::retry
