#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "retry/attempt/attempt_outcome.hpp"
#include "retry/attempt/http_request.hpp"
#include "retry/event/event_reader.hpp"
#include "retry/home/fan_out/webhook_progress.hpp"
#include "retry/home/queue/attempt_queue.hpp"
#include "retry/home/queue/breaker.hpp"
#include "retry/home/queue/delivery_line.hpp"
#include "retry/home/queue/requeues.hpp"
#include "retry/home/recent_attempts.hpp"
#include "retry/home/tiers/due.hpp"
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

/// Takes due deliveries of webhooks, attempts each when it is next in the queue, and decides its
/// next step (docs/webhooks.md#attempts). A delivery that cannot be attempted now (its breaker is
/// open, its webhook holds its part of the window, or an earlier one of an ordered webhook has
/// failed) waits in a tier without spending an attempt. So does one whose event cannot be read at
/// present; if the log has the event no more, the delivery is a dead letter.
///
/// On the executor's thread.
class Dispatcher {
public:
    /// An unknown webhook may have been made on another node a moment ago: its delivery is dropped
    /// after a later read of all records of `webhooks`, so deleting a webhook ends what waits for
    /// it. While these cannot be read, it waits for so long.
    static constexpr std::chrono::seconds kUnknownWaits{5};
    static constexpr std::chrono::seconds kUnreadWaits{5};
    /// The most webhooks that are remembered: so many, or twice as many as there are.
    static constexpr std::size_t kRememberedMin = 1'000;
    static constexpr std::size_t kOwnersMax = 1'000;

    struct Context {
        HomeContext home;
        AttemptQueue& queue;
        const WebhookDirectory& webhooks;
        EventReader& events;
        DeliveryOutcomes& outcomes;
        SendRequest send;
        /// Publishes a webhook's state: disabled, or when it began to fail.
        std::function<void(const std::string& webhook, const WebhookState&)> change_state;
        /// As of WebhookProgress::Events.
        CatchUp catch_up;
        /// An attempt has ended; may be empty.
        std::function<void(const std::string& webhook, const Attempt&)> attempted{};
    };

    Dispatcher(DeliveryOptions options, Context context);

    void due(Due due);
    /// A delivery is next in the queue. `event`: if it names one, once that is read.
    void begin(Job job, EventText event = nullptr);
    /// The partition is not this node's any more; before the queue forgets it.
    void forget(core::Partition partition);

    /// The resources that each owner has used since this dispatcher began, and uses; at most
    /// kOwnersMax owners, or twice as many as have webhooks.
    std::map<std::string, OwnerUsage, std::less<>> usage() const;
    /// The number of webhooks with remembered state: breaker, failures, waiting deliveries.
    std::size_t remembered() const { return receivers_.size(); }
    const RecentAttempts& attempts() const { return attempts_; }

private:
    /// The state of a webhook that is remembered while it matters.
    struct Receiver {
        Receiver(LinePlaces& places, const std::string& of) : owner(of), line(places, of) {}
        const std::string owner;
        Breaker breaker;
        std::optional<core::Timestamp> enabled_at;  ///< its failures are younger
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

    struct Owner {
        OwnerUsage usage;
        Requeues requeues{Requeues::kOwnerPerSecond};  ///< of all its webhooks
    };

    Receiver& receiver(const std::string& webhook);
    void forget_deleted();
    Owner& owner(const std::string& name);
    void forget_requeues(const Receiver& receiver);
    std::optional<int> tier_by_requeues(const Receiver& receiver, core::Duration how_long);
    bool put_aside(const Due& due, const WebhookDirectory::Entry* entry);
    bool put_behind(const Due& due, const Webhook& webhook);
    bool wait_for_breaker(const Due& due, const WebhookDirectory::Entry& entry);
    void count(DeliveryEnd end) const { ++context_.home.tally.deliveries[end]; }
    void wait(const Due& due, core::Duration how_long, DeliveryEnd why);
    std::optional<int> tier_for_wait(const Due& due, core::Duration how_long);
    void promote(const Due& due, int tier);
    void came_back(const Due& due);
    void dead_letter(const Due& due, Outcome why);
    void not_known(const Due& due);
    void caught_up(const std::string& webhook, bool all_read);
    void take(Due due);
    core::Timestamp log_time(const Due& due) const {
        return log_now(due, context_.home.clock.mono());
    }

    void read(Job job);
    void was_read(std::uint64_t attempt, const core::Result<EventText>& event);
    void start(Job started, const WebhookDirectory::Entry& entry, const EventText& event);
    void send(HttpRequest request, const Webhook& webhook, std::function<void(HttpAnswer)> done);
    void ended(const Job& job, core::Timestamp at, const HttpAnswer& answer, bool ours);
    void note_usage(const Job& job, const HttpAnswer& answer, Outcome outcome);
    void remember(const Job& job, core::Timestamp at, const HttpAnswer& answer, Outcome outcome);
    void follow(const Job& job, const Verdict& verdict);
    void failed(const Job& job, const Verdict& verdict);
    static void forget_failures_before(Receiver& receiver, const WebhookState& state);
    void judge_receiver(const Job& job, const HttpAnswer& answer, Outcome outcome);
    void receiver_works(const Job& job, Receiver& receiver, WebhookState state, bool was_open);
    void receiver_fails(const Job& job, Receiver& receiver, WebhookState state, Outcome outcome);
    void leave_line(const Delivery& delivery);
    bool is_next(Receiver& receiver, const std::string& delivery) const;
    int wait_in_line(Receiver& receiver, const Due& due, int tier);
    static DeliveryLine::Place* enter_line(Receiver& receiver, const std::string& id, bool is_new);

    const DeliveryOptions options_;
    const Context context_;
    LinePlaces line_places_;
    std::map<std::string, Receiver, std::less<>> receivers_;
    std::size_t sweep_at_ = kRememberedMin;  ///< receivers, for those that were deleted
    RecentAttempts attempts_;
    std::map<std::string, Owner, std::less<>> owners_;
    std::size_t sweep_owners_at_ = kOwnersMax;
    /// Deliveries of unknown webhooks, while the log's records of these are read.
    std::map<std::string, std::vector<Due>> unknown_;
    std::map<std::uint64_t, Job> reading_;  ///< by attempt: their event is being read
    core::Lifetime lifetime_{context_.home.executor};
};

}  // namespace beckon::retry
