#pragma once

#include "core/clock.hpp"
#include "core/record.hpp"
#include "core/time_guard.hpp"
#include "edge/home/part_context.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

namespace beckon::edge {

/// Delivers messages to the attached clients of one partition: messages that are folded while a
/// client is attached, and messages that wait in the store.
class Delivery {
public:
    /// Messages read from the store in one turn, for all clients together.
    static constexpr std::size_t kReadBudget = 4'096;
    /// For one client at a time: a window has capacity for few large messages.
    static constexpr std::size_t kReadAtOnce = 32;
    /// For how long a TTL-0 message waits for its client after a take-over, and how many do.
    static constexpr core::Duration kTakeoverGrace = std::chrono::seconds{5};
    static constexpr std::size_t kAwaitingMax = 1'024;
    /// Tracked TTL-0 messages that were sent and whose acks are awaited.
    static constexpr std::size_t kAwaitingAckMax = 1'024;

    explicit Delivery(const PartContext& context)
        : context_(context), missing_(context.log.missing_time()) {}

    /// Folds a message, and sends it if its client is attached and can take it; otherwise it waits
    /// in the store. True if the message is pending, sent or not.
    bool fold(const core::RecordView& record, const core::NotificationAccepted& message);
    /// The message is finished: a frame of it that is still queued here is dropped.
    /// One exception: a serving home holds a TTL-0 message for its client although it reads the
    /// tombstone `expired`, because it publishes that tombstone itself as soon as it folds the
    /// message. A tombstone that the home reads before it serves is a former home's, which sent the
    /// message if it could.
    void finished(const core::Uaid& client, const core::MessageKey& message,
                  core::FinishReason why);

    /// The client acknowledged a message that is not pending: one with TTL 0, if it was sent here
    /// and is tracked.
    void acknowledged(const core::MessageKey& message, core::Milestone end);

    /// From now on clients may attach.
    void serve() {
        serving_since_ = context_.clock.mono();
        missing_ = withheld_by_ = context_.log.missing_time();
    }
    /// No client is attached any more.
    void stop();
    /// A known client has attached: its waiting messages are due.
    void attached(Session& session);
    /// The session may have space again. True if a turn is worth it.
    bool made_capacity(Session& session);

    /// Sends waiting messages, within a budget. True if there is more to do at once.
    bool turn();
    /// About once a second: sessions whose space was too small to be worth a read, or that were
    /// silent for too long, get as many messages as fit; so do sessions for which messages were
    /// withheld that are not over after all.
    void tick();

private:
    /// A TTL-0 message whose client was not there.
    struct AwaitingClient {
        core::Uaid client;
        core::ChannelId channel;
        std::optional<std::string> topic;
        core::MessageKey message;
        core::Timestamp appended{};
        std::string text;
        std::optional<core::Tracked> tracked;
    };
    struct AwaitingAck {
        core::MessageKey message;
        core::Tracked tracked;
    };

    std::optional<core::Tracked> tracked(const core::RecordView& record,
                                         const core::NotificationAccepted& message) const;
    void report(const std::optional<core::Tracked>& message, core::Milestone milestone);
    void await_ack(const core::MessageKey& message, const std::optional<core::Tracked>& tracked);
    void fold_receipt(const core::RecordView& record, const core::NotificationAccepted& message,
                      store::PutOutcome outcome);
    bool expired(core::Timestamp expiry) const { return context_.log_now() >= expiry; }
    bool outlived_grace(core::Timestamp appended) const {
        return context_.log_now() + missing_.of(appended) - appended > kTakeoverGrace;
    }
    /// Nobody knows for certain that it is over, so it is not finished; but it is not delivered.
    bool may_be_over(const store::MessageView& message, core::Timestamp log_now) const {
        return log_now + missing_.of(message.appended) >= message.expiry;
    }
    void release_withheld();
    void send(const Session& session, Effects effects, std::optional<Report> report);
    void await_client(const core::RecordView& record, const core::NotificationAccepted& message);
    void replace_awaiting(const core::NotificationAccepted& newer);
    void send_awaiting(const Session& session);
    void expire_awaiting();
    std::size_t read(Session& session, std::size_t budget);
    std::size_t read_once(Session& session, std::size_t at_most);

    const PartContext& context_;
    std::optional<core::MonoTime> serving_since_;
    /// These may name clients that have gone meanwhile.
    std::unordered_set<core::Uaid> due_;       ///< something waits, and there is space
    std::unordered_set<core::Uaid> blocked_;   ///< something waits, and there is none
    std::unordered_set<core::Uaid> withheld_;  ///< something waits that may be over
    /// By how much messages may be older than by the log's time, as of the last tick.
    core::MissingTime missing_;
    core::MissingTime withheld_by_;        ///< the most since withheld_ was read again
    std::deque<AwaitingClient> awaiting_;  ///< in log order
    std::deque<AwaitingAck> awaiting_ack_;
};

}  // namespace beckon::edge
