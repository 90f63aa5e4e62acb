#pragma once

#include "core/backoff.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "edge/home/delivery/delivery.hpp"
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
#include <utility>

namespace beckon::edge {

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

    explicit Outcomes(const PartContext& context)
        : context_(context), lifetime_(context.executor) {}
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
    /// Tombstones of messages that the store has forgotten, not read back yet; none that the log
    /// did not take.
    std::set<core::MessageKey> removed_;
    std::size_t awaiting_ = 0;  ///< with Stage::awaiting_ack, for a timer or an ack
    std::unordered_map<core::MessageKey, Publishing> notifying_;
    std::deque<core::MessageKey> waiting_;
    std::size_t in_flight_ = 0;
    core::Lifetime lifetime_;  ///< renewed by stop(): answers and timers are stale then
};

/// Publishes the pending tombstones of a serving home, one for each finished message, in the order
/// of the puts, until it is *read back*. An unknown outcome is published again; tombstones may
/// repeat. The tombstone of a message goes out only after the log has those of the older messages
/// of its client that were replaced, so that no restore can find an old one alone. That of a
/// tracked message goes out after the milestone that it ended with, that of a message with a
/// receipt after its outcome was published: after a kill its tombstone is still pending.
///
/// No client waits for a tombstone, and a request to the log costs about the same with one record
/// as with fifty. So tombstones linger for up to kLinger; kFullBatch of one home go at once
/// (docs/decisions/0198-messages-are-batched-under-load.md).
///
/// The store owns the pending tombstones. This output holds those that are being published, a
/// bounded number, with the lowest puts, and reads the rest from the store when there is space. On
/// the home's thread.
class TombstoneOutbox {
public:
    /// Pending tombstones that are held in memory.
    static constexpr std::size_t kHeldMax = 4'096;
    /// How long a tombstone may wait for others. A kill within that time costs a second delivery.
    static constexpr core::Duration kLinger = std::chrono::milliseconds{250};
    /// With so many waiting, they go at once.
    static constexpr std::size_t kFullBatch = 256;

    TombstoneOutbox(const PartContext& context, Delivery& delivery);
    ~TombstoneOutbox();

    /// From now on, until stop(), the pending tombstones of this store are published from here.
    void begin();
    /// Publishes all waiting tombstones now, also those that the log has refused a moment ago:
    /// another node is about to serve. No more than may be in flight. Tombstones no longer wait for
    /// milestones, which are on their way.
    void flush();
    void stop();
    /// The client has acknowledged a message, whose tombstone is pending from now on, with this
    /// code: the tombstone carries it. Kept in memory only, so that a kill before the tombstone
    /// leaves a pending tombstone without it.
    void acked_with(const core::MessageKey& key, std::uint16_t code);
    /// New pending tombstones are published soon. While nothing is left to commit.
    void take_new();
    /// The tombstone was read: it is no longer pending.
    void read_back(const core::MessageKey& key);
    /// Reports how messages with a receipt ended.
    Outcomes& outcomes() { return outcomes_; }

private:
    /// reporting: the tombstone waits until the log has the outcome. A home that is killed before
    /// finds the pending tombstone again, and reports it again.
    enum class Stage { reporting, waiting, in_flight, durable };
    struct Entry {
        store::PendingTombstone pending;
        Stage stage = Stage::waiting;
        bool milestone_reported = false;  ///< or it is not waited for any longer
    };

    void add(const store::PendingTombstone& pending);
    bool is_reported(const store::PendingTombstone& pending) const;
    void report(const store::PendingTombstone& pending);
    void milestone_reported(const core::MessageKey& key);
    void notify_sender(const store::PendingTombstone& pending);
    void reported(const core::MessageKey& key);
    void read_more();
    void pump_soon();
    void pump();
    bool must_wait(const store::PendingTombstone& pending) const;
    void publish(Entry& entry);
    void answered(const core::MessageKey& key, bool ok);
    void made_durable(const store::PendingTombstone& pending);
    void back_off();
    void pump_after(core::Duration delay);

    const PartContext& context_;
    Delivery& delivery_;
    core::MilestoneSink* const milestones_;  ///< of tracked messages; null: nowhere
    Outcomes outcomes_;
    bool publishing_ = false;
    std::unordered_map<core::MessageKey, Entry> held_;
    std::set<std::pair<core::Offset, core::MessageKey>> waiting_;  ///< in the order of the puts
    /// By client: the puts of replaced messages whose tombstone the log does not have yet.
    std::unordered_map<core::Uaid, std::set<core::Offset>> replaced_;
    /// The messages whose tombstones are not read back; at most kHeldMax.
    std::unordered_map<core::MessageKey, std::uint16_t> codes_;
    bool more_in_store_ = false;  ///< not all of them are held
    std::size_t mine_in_flight_ = 0;
    core::Backoff retry_;
    bool lingering_ = false;
    bool pump_later_ = false;
    core::Lifetime lifetime_;  ///< renewed by stop(): answers and timers are stale then
};

}  // namespace beckon::edge
