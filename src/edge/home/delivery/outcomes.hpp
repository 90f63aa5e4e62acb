#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "edge/home/part_context.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"
#include "records/receipt.hpp"
#include "store/edge_store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>

namespace beckon::edge {

/// How many outcomes the homes of one shard may have published without an answer. They share a
/// publisher with read barriers, leases and registers, which must not find it full.
struct OutcomesInFlight {
    /// At which a home gets no second one.
    static constexpr std::size_t kMax = 512;
    std::size_t count = 0;
};

/// Publishes the outcomes of messages whose senders want a receipt (docs/protocol/receipts.md): one
/// event in `events` for each. An event that the log refuses is published again until the log takes
/// it, or until stop(): the receipt stays in the store until the message's tombstone is read, so
/// the next home publishes it. Nothing is lost, and an outcome may be reported twice. On the home's
/// thread.
class Outcomes {
public:
    /// Events of this home without the log's report; the rest waits here.
    static constexpr std::size_t kInFlightMax = 64;
    /// For the ack of a message with TTL 0, whose pending tombstone has the reason `expired` from
    /// the start.
    static constexpr core::Duration kAckWait = std::chrono::seconds{5};
    /// Messages with TTL 0 whose ack is awaited at one time, since their pending tombstones wait
    /// too; beyond it the reason of the pending tombstone is reported at once.
    static constexpr std::size_t kAwaitMax = 1'024;
    /// Messages that expire in one tick.
    static constexpr std::size_t kExpireMax = 1'000;

    Outcomes(const PartContext& context, OutcomesInFlight& in_flight);
    ~Outcomes() { stop(); }

    /// The sender receives this message's outcome; true also if the store's read failed. Then it
    /// cannot commit either, and the fold starts anew.
    bool wanted(const core::MessageKey& message) const {
        return context_.store.receipt(message).has_value() || context_.store.broken();
    }
    /// `reported`: the log has it. False: there is no receiver, or the store's read failed
    /// (broken()); `reported` will not be called.
    bool publish_outcome(const core::MessageKey& message, core::FinishReason reason,
                         std::function<void()> reported);
    /// The client has the message, although its pending tombstone has another reason.
    void acknowledged(const core::MessageKey& message);
    /// Call it about once a second: finishes expired messages with a receipt.
    void expire();
    void stop();

private:
    enum class Stage : std::uint8_t { awaiting_ack, waiting };
    struct Publishing {
        core::ReceiptOutcome what;
        std::function<void()> reported;
        Stage stage = Stage::awaiting_ack;
    };

    void enqueue(const core::MessageKey& message);
    void pump();
    void publish(const core::MessageKey& message, const core::ReceiptOutcome& what);
    void written(const core::MessageKey& message);
    void remove(const core::Uaid& client, const core::MessageKey& message);

    const PartContext& context_;
    OutcomesInFlight& all_in_flight_;
    /// Tombstones of messages that the store has forgotten, not read back yet; none that the log
    /// did not take.
    std::set<core::MessageKey> removed_;
    std::size_t awaiting_ = 0;  ///< with Stage::awaiting_ack, for a timer or an ack
    std::unordered_map<core::MessageKey, Publishing> notifying_;
    std::deque<core::MessageKey> waiting_;
    std::size_t in_flight_ = 0;
    core::Lifetime lifetime_;  ///< renewed by stop(): answers and timers are stale then
};

}  // namespace beckon::edge
