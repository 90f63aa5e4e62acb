#pragma once

#include "cluster/partition_lease.hpp"
#include "core/codec.hpp"
#include "core/logger.hpp"
#include "edge/home/debts.hpp"
#include "edge/home/home.hpp"
#include "edge/home/session.hpp"
#include "edge/protocol.hpp"
#include "fold/marker.hpp"
#include "fold/teaching_publisher.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

/// The inside of a Home, one idea per file:
///   home.cpp           its life: checkpoint, restore, lease, give up
///   home_turn.cpp      one turn: take, fold, commit, and what may happen only then
///   home_sessions.cpp  attach, hello, frames
///   home_changes.cpp   register, unregister, last_seen: what is written to `subscriptions`
///   home_delivery.cpp  window, drain, acks
namespace beckon::edge {

/// After something outside failed (log, disk).
inline constexpr core::Duration kRetryAfter = std::chrono::milliseconds{500};
/// After the store could not commit: at first, and at most.
inline constexpr core::Duration kCommitRetryFirst = std::chrono::milliseconds{10};
inline constexpr core::Duration kCommitRetryMax = std::chrono::milliseconds{640};
/// After a lease was lost, at least; as much again at random.
inline constexpr core::Duration kReclaimAfter = std::chrono::seconds{1};
inline constexpr core::Duration kTick = std::chrono::seconds{1};
/// Records per turn and topic.
inline constexpr std::size_t kFoldBatch = 256;
/// Messages read from the store for one client in one turn.
inline constexpr std::size_t kDrainBatch = 256;
/// Clients whose hello waits.
inline constexpr std::size_t kAwaitingMax = 10'000;
/// Registers and unregisters of one client without an answer.
inline constexpr std::size_t kChangesInFlightMax = 256;
/// For how long a TTL-0 message waits for its client after a take-over, and how many do.
inline constexpr core::Duration kTakeoverGrace = std::chrono::seconds{5};
inline constexpr std::size_t kHeldMax = 1'024;
/// A checkpoint's "caught up" is renewed so often where nothing happens.
inline constexpr core::Duration kCaughtUpEvery = std::chrono::minutes{1};
inline constexpr core::Duration kSeenEvery = std::chrono::hours{24};

/// One of the two log topics that are folded.
struct Input {
    Input(log::Topic t, store::Source s) : topic(t), source(s) {}

    const log::Topic topic;
    const store::Source source;
    std::unique_ptr<log::PartitionReader> reader;
    std::unique_ptr<fold::Marker> marker;
    core::Offset next = 0;       ///< folded below
    bool drained = false;        ///< the reader's last word
    core::MonoTime caught_up{};  ///< when that was last written into the checkpoint
};

/// A register or unregister under way.
struct Change {
    enum class Kind { registering, unregistering };
    Kind kind = Kind::registering;
    SessionId session;
    core::Uaid uaid;
    core::ChannelId channel;
    std::string endpoint;
    int reports_missing = 0;
    bool failed = false;
    core::Offset last = -1;  ///< the highest offset of its records
};

/// A TTL-0 message whose client was not there.
struct Held {
    core::Uaid uaid;
    core::Timestamp appended{};
    std::string frame;
};

struct Home::Impl : std::enable_shared_from_this<Impl> {
    Impl(HomeOptions o, Ports p, std::unique_ptr<store::PartitionStore> s);

    const HomeOptions options;
    const WindowLimits limits;
    Ports ports;
    fold::TeachingPublisher publisher;  ///< for marks
    std::unique_ptr<store::PartitionStore> store;
    FrameParser parser;
    core::DecodeScratch scratch;
    std::minstd_rand random;  ///< jitter only

    // --- life
    State state = State::starting;
    bool wanted = false;     ///< the controller placed the partition here
    core::Epoch floor = 0;   ///< of the next claim
    std::uint64_t life = 0;  ///< counts restarts: what was asked in an earlier one is stale
    bool marks_asked = false;
    bool suspect = false;  ///< the loop stood still; until a mark passed
    core::MonoTime last_tick{};
    std::optional<core::Timestamp> restoring_since;  ///< log time; only when from the log's start
    Input notifications{log::Topic::kNotifications, store::Source::notifications};
    Input subscriptions{log::Topic::kSubscriptions, store::Source::subscriptions};
    std::unique_ptr<cluster::PartitionLease> lease;
    std::unique_ptr<Debts> debts;  ///< while serving
    bool begin_serving = false;    ///< the lease is read back; the turn's commit is not done
    core::MonoTime serving_since{};

    // --- turns
    bool turn_posted = false;
    bool commit_failed = false;
    bool commit_given_notice = false;  ///< that it lasts
    core::Duration commit_retry = kCommitRetryFirst;
    std::vector<ToFront> outbox;  ///< leaves after the commit

    // --- sessions
    std::map<SessionId, AwaitingHello> awaiting;
    std::unordered_map<core::Uaid, Identified> sessions;
    /// Sessions that got another UAID than they offered: their front may not know yet.
    std::map<SessionId, core::Uaid> renamed;
    std::unordered_set<core::Uaid> refill_soon;  ///< at the end of the turn
    std::unordered_set<core::Uaid> blocked;      ///< window full and more to send
    std::set<std::pair<core::MonoTime, core::Uaid>> seen_due;
    std::deque<Held> held;

    // --- changes
    std::uint64_t seq = 0;
    std::uint64_t next_change = 0;
    std::unordered_map<std::uint64_t, Change> changes;
    std::multimap<core::Offset, std::uint64_t> changes_by_offset;  ///< wait for the fold

    Status counters;

    // --- home.cpp
    void start();
    void learn_time();
    void ask_ends();
    void begin_folding(const log::Ends& of_notifications, const log::Ends& of_subscriptions);
    bool trusts_checkpoints(const log::Ends& n, const log::Ends& s) const;
    void open(Input& input);
    void restart(std::string_view why);
    void close_inputs();
    void ask_marks(std::function<void(const core::Result<void>&)> done);
    void caught_up();
    void take(core::Epoch at_least);
    void claim();
    void reclaim_later();
    void give_up();
    void lost(const core::Error& why);
    void stop_serving(std::string_view why);
    void start_serving();
    void tick();
    void notice_standstill();
    /// Runs `task` on the executor unless the home was destroyed or restarted meanwhile.
    void later(core::Duration delay, void (Impl::*task)());
    /// Of the same: for completions.
    template <class F>
    auto guarded(F f) {
        return [weak = weak_from_this(), of = life, f = std::move(f)](auto&&... args) {
            const auto self = weak.lock();
            if (self && self->life == of) f(*self, std::forward<decltype(args)>(args)...);
        };
    }

    // --- home_turn.cpp
    void schedule_turn();
    void turn();
    bool take(Input& input);
    bool commit();
    void after_commit();
    void fold_notification(const core::RecordView& record);
    void fold_message(const core::RecordView& record, const core::NotificationAccepted& message);
    void fold_subscription(const core::RecordView& record);
    void read_lease(log::Topic topic, core::Offset offset, const core::Lease& seen);
    void unknown(log::Topic topic, core::Offset offset, const core::Unknown& record);

    // --- home_sessions.cpp
    void attach(Attach message);
    void hear(FromClient message);
    void detach(const Detach& message);
    void answer_hello(AwaitingHello session);
    void settle_hello(const SessionId& id, const core::Result<void>& marked);
    void identify(AwaitingHello session, const core::Uaid& uaid, bool known);
    Identified* find(const SessionId& id, const core::Uaid& uaid);
    void hear(Identified& session, std::string_view text);
    void drop(const core::Uaid& uaid);
    void close(const SessionId& id, Closing closing);
    void say(const SessionId& id, std::string text);

    // --- home_changes.cpp
    core::WriteStamp stamp() { return {lease->epoch(), ++seq}; }
    void change(Identified& session, const Register& frame);
    void change(Identified& session, const Unregister& frame);
    void publish(std::uint64_t change, core::Record record);
    void reported(std::uint64_t change, const core::Result<log::Appended>& result);
    void complete_changes();
    void complete(const Change& change);
    void drop_pending_of(const core::Uaid& uaid, const core::ChannelId& channel);
    void see(const Identified& session);
    void publish_truth(const core::Uaid& uaid, const std::optional<core::ChannelId>& channel);

    // --- home_delivery.cpp
    void deliver(Identified& session, const core::NotificationAccepted& message,
                 core::Timestamp expiry);
    void send_held(const Identified& session);
    void hold(const core::RecordView& record, const core::NotificationAccepted& message);
    void refill(Identified& session);
    void refill_all();
    void finished_elsewhere(const core::Uaid& uaid, const core::MessageKey& key);
    void ack(Identified& session, const Ack& frame);
    void durable(const store::Debt& debt);
};

}  // namespace beckon::edge
