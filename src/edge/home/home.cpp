#include "edge/home/home.hpp"

#include "core/assert.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "core/record.hpp"
#include "edge/home/clients.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/delivery/pending_limit.hpp"
#include "edge/home/delivery/tombstone_outbox.hpp"
#include "edge/home/leadership.hpp"
#include "edge/home/registration/registrations.hpp"
#include "edge/home/session/outbox.hpp"
#include "edge/home/session/sessions.hpp"
#include "log/event_log.hpp"
#include "records/client_gone.hpp"
#include "records/events.hpp"
#include "store/edge_store.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace beckon::edge {

namespace {

constexpr core::Duration kTick = std::chrono::seconds{1};
/// A home that follows the log writes its store so long after the first change (decision 0030), and
/// the homes of a shard at moments of their own: each partition takes up to kCommitSpread less.
constexpr core::Duration kCommitAfter = std::chrono::seconds{1};
constexpr core::Duration kCommitSpread = std::chrono::milliseconds{256};
/// It writes earlier what takes the shard's thread some milliseconds.
constexpr std::size_t kCommitRowsMax = 4'096;
constexpr std::size_t kCommitBytesMax = std::size_t{1} << 20;

core::Duration commit_after(core::Partition partition) {
    constexpr auto kSteps = kCommitSpread / std::chrono::milliseconds{1};
    return kCommitAfter - std::chrono::milliseconds{partition * 37 % kSteps};
}

fold::Options fold_options(const HomeOptions& options) {
    return {.folder = "edge",
            .inputs = {{log::Topic::kNotifications, options.partition},
                       {log::Topic::kSubscriptions, options.partition}},
            .node = options.node,
            .group = "edge",
            .applies_backpressure = true,
            .delete_retention = options.delete_retention,
            .stall_after = options.session_timeout / 2};
}

store::Source source_of(fold::InputIndex input) {
    return input == kNotificationsInput ? store::Source::notifications
                                        : store::Source::subscriptions;
}

}  // namespace

/// Puts the parts together, and calls them at a turn of the fold and at a change of leadership.
struct Home::Impl final : fold::State, HomeCalls {
    Impl(HomeOptions o, Context p, std::unique_ptr<store::PartitionStore> s);

    // --- fold::State
    std::optional<core::Checkpoint> checkpoint(fold::InputIndex input) const override {
        return store->checkpoint(source_of(input));
    }
    void replay(fold::InputIndex input, const core::RecordView& record) override;
    void advance(fold::InputIndex input, core::Offset next,
                 std::optional<core::Timestamp> caught_up, core::Timestamp youngest) override {
        store->advance(source_of(input), next, caught_up, youngest);
    }
    bool dirty() const override;
    bool commit_due() const override { return store->commit_due(); }
    core::Result<void> commit() override;
    bool dropped_batch() const override { return read_failed; }
    core::Result<void> clear() override { return store->clear(); }
    void turn_ended() override;
    void caught_up() override;
    void restarted(std::string_view) override { leadership.restarted(); }

    // --- HomeCalls
    void began() override;
    void ended(Closing closing) override;
    void flush_or_turn() override;
    void end(Session& session, Closing closing) override { clients.end(session, closing); }
    void reset(const core::Uaid& client) override {
        removals.remove(client, Removals::Why::max_pending);
    }

    void tick();

    // --- records: a standby folds like a serving home, which alone counts the ends of messages
    void notification(const core::RecordView& record);
    void subscription(const core::RecordView& record);
    void folded(bool won) {
        if (!won) registrations.repair_is_due();
    }
    bool is_repeated(const core::NotificationFinished& done) const;
    void count_finished(const core::NotificationFinished& done);
    void unknown(log::Topic topic, core::Offset offset, const core::Unknown& record);

    const HomeOptions options;
    Context context;
    const std::unique_ptr<store::PartitionStore> store;
    bool read_failed = false;  ///< before the last commit, which failed for it
    bool commit_now = false;   ///< the last commit failed, or the home does not serve any more
    /// When the changes are written; set at the end of the turn that made the first of them.
    std::optional<core::MonoTime> commit_at{};

    core::DecodeScratch scratch;
    std::uint64_t unknown_records = 0;
    core::ByEnum<core::FinishReason, std::uint64_t> finished{};

    fold::Fold fold;
    Outbox outbox;
    Sessions sessions;
    const PartContext parts;
    Delivery delivery;
    TombstoneOutbox tombstone_outbox;
    Registrations registrations;
    Removals removals;
    PendingLimit pending;
    Leadership leadership;
    Clients clients;
    core::Lifetime lifetime;
};

Home::Impl::Impl(HomeOptions o, Context p, std::unique_ptr<store::PartitionStore> s)
    : options(std::move(o)),
      context(p),
      store(std::move(s)),
      fold(fold_options(options), {context.log, context.publisher, context.executor, context.clock},
           *this),
      outbox(context.milestones),
      sessions({.window = options.window, .ping_interval_min = options.ping_interval_min}),
      parts{.partition = options.partition,
            .partitions = options.partitions,
            .store = *store,
            .fold = fold,
            .executor = context.executor,
            .clock = context.clock,
            .tokens = context.tokens,
            .sessions = sessions,
            .outbox = outbox,
            .home = *this},
      delivery(parts, context.log, context.times),
      tombstone_outbox(parts, delivery,
                       {.tombstones = context.tombstones,
                        .outcomes = context.outcomes,
                        .milestones = context.milestones}),
      registrations({.endpoint_url = options.endpoint_url,
                     .channels_max = options.channels_per_client,
                     .gone_wanted = context.gone_wanted},
                    parts, delivery),
      removals(options.client_ttl, parts, registrations),
      pending(options.pending, parts, delivery),
      leadership(options.node, parts),
      clients(parts, {.leadership = leadership,
                      .delivery = delivery,
                      .tombstone_outbox = tombstone_outbox,
                      .registrations = registrations,
                      .removals = removals,
                      .fronts = context.fronts,
                      .times = context.times}),
      lifetime(context.executor) {
    BECKON_ASSERT(options.partition >= 0 && options.partition < options.partitions,
                  "a partition is below their number");
}

void Home::Impl::replay(fold::InputIndex input, const core::RecordView& record) {
    input == kNotificationsInput ? notification(record) : subscription(record);
}

/// Nothing that leaves depends on its rows being written: a home that is killed folds the last
/// second again, from the log.
bool Home::Impl::dirty() const {
    if (!store->dirty()) return false;
    return commit_now || fold.phase() != fold::Phase::following || store->broken() ||
           store->changed_rows() >= kCommitRowsMax || store->changed_bytes() >= kCommitBytesMax ||
           (commit_at && context.clock.mono() >= *commit_at);
}

core::Result<void> Home::Impl::commit() {
    read_failed = store->broken();
    auto written = store->commit();
    commit_now = !written;
    if (written) commit_at.reset();
    return written;
}

void Home::Impl::notification(const core::RecordView& record) {
    std::visit(core::Overloaded{[&](const core::NotificationAccepted& message) {
                                    const bool waits = delivery.fold(record, message);
                                    if (waits && leadership.serving()) {
                                        pending.waits(message.uaid, record.offset);
                                    }
                                },
                                [&](const core::NotificationFinished& done) {
                                    if (!is_repeated(done)) count_finished(done);
                                    store->finish(done, record.time);
                                    if (!is_repeated(done)) {
                                        tombstone_outbox.read_back(done.key);
                                    }
                                    delivery.finished(done.uaid, done.key, done.reason);
                                },
                                [](const core::BarrierRecord&) {},
                                [&](const core::Lease& seen) {
                                    leadership.read(log::Topic::kNotifications, record.offset,
                                                    seen);
                                },
                                [&](const core::Unknown& what) {
                                    unknown(log::Topic::kNotifications, record.offset, what);
                                }},
               core::decode_notification(record, scratch));
}

/// A deleted message with a pending tombstone: that one is counted, and read back.
bool Home::Impl::is_repeated(const core::NotificationFinished& done) const {
    return done.reason == core::FinishReason::deleted &&
           store->tombstone_pending(done.uaid, done.key);
}

/// Each node with a copy of the partition reads the tombstone; the one that serves counts it.
void Home::Impl::count_finished(const core::NotificationFinished& done) {
    if (!leadership.serving()) return;
    ++finished[done.reason];
    if (!core::log_enabled(core::LogLevel::debug)) return;
    core::log_debug("edge", "message_finished",
                    {{"message", core::log_name(done.key)},
                     {"client", core::log_name(done.uaid)},
                     {"reason", core::to_string(done.reason)}});
}

/// A record that lost was written by a former home. Own records never lose: they come in order.
void Home::Impl::subscription(const core::RecordView& record) {
    if (core::decode_client_gone(record)) return;  // of a bridged client: the endpoints' concern
    std::visit(
        core::Overloaded{
            [&](const core::ClientRecorded& e) {
                registrations.saw(e.stamp);
                folded(store->put_client(e));
            },
            [&](const core::ClientRemoved& e) {
                folded(store->remove_client(e, record.time));
                // The records of its channels are in the log still.
                registrations.repair_is_due();
            },
            [&](const core::ChannelRecorded& e) {
                registrations.saw(e.stamp);
                folded(store->put_channel(e));
            },
            [&](const core::ChannelRemoved& e) { folded(store->remove_channel(e, record.time)); },
            [](const core::BarrierRecord&) {},
            [&](const core::Lease& seen) {
                leadership.read(log::Topic::kSubscriptions, record.offset, seen);
            },
            [&](const core::Unknown& what) {
                unknown(log::Topic::kSubscriptions, record.offset, what);
            }},
        core::decode_subscription(record, scratch));
}

void Home::Impl::unknown(log::Topic topic, core::Offset offset, const core::Unknown& record) {
    ++unknown_records;
    core::log_sparsely(core::LogLevel::warn, "edge", "unknown_record",
                       {{"topic", topic.name()},
                        {"partition", options.partition},
                        {"offset", offset},
                        {"why", record.why}});
}

// --- turns

/// What follows from the records and decisions of the turn leaves now: frames and records.
/// Left-over work has a budget, and its decisions wait for the next turn.
void Home::Impl::turn_ended() {
    leadership.turn_ended();
    outbox.flush(context.fronts);
    if (!commit_at && store->dirty())
        commit_at = context.clock.mono() + commit_after(options.partition);
    if (!leadership.serving()) return;
    tombstone_outbox.take_new();
    bool more = clients.turn();
    more |= registrations.turn();
    more |= pending.turn();
    more |= delivery.turn();
    flush_or_turn();
    if (more) fold.request_turn();
}

/// The one place where decisions made outside of a turn leave: at once, unless a write of the store
/// is due, which may fail. Acknowledgements that the store postpones do not wait
/// for a commit: their tombstones are published, without a report.
void Home::Impl::flush_or_turn() {
    if (dirty()) return fold.request_turn();
    outbox.flush(context.fronts);
    tombstone_outbox.take_new();
}

void Home::Impl::caught_up() {
    if (!leadership.wanted()) clients.release_hellos(closing::kNotServing);
    leadership.caught_up();
}

void Home::Impl::began() {
    clients.began();
    registrations.begin(leadership.epoch());
    removals.begin();
    delivery.serve();
    tombstone_outbox.begin();
    fold.report_offsets(true);
}

void Home::Impl::ended(Closing closing) {
    tombstone_outbox.flush();
    tombstone_outbox.stop();
    store->write_postponed(true);
    commit_now = true;
    fold.request_turn();
    registrations.stop();
    removals.stop();
    pending.clear();
    delivery.stop();
    outbox.drop_frames();
    clients.release_hellos(closing);
    for (const auto& [uaid, session] : sessions) outbox.release(session.id, closing);
    sessions.clear();
    outbox.flush(context.fronts);  // these follow from no record
    fold.report_offsets(false);
}

void Home::Impl::tick() {
    // First: an exception below must not end the later ones.
    context.executor.post_after(kTick, lifetime.guard([this] { tick(); }));
    if (leadership.serving()) {
        registrations.tick();
        removals.tick();
        delivery.tick();
        if (!fold.suspect()) tombstone_outbox.outcomes().expire();
        store->write_postponed(false);
    }
    fold.request_turn();
}

// --- Home

Home::Home(HomeOptions options, Context context, std::unique_ptr<store::PartitionStore> store)
    : impl_(std::make_unique<Impl>(std::move(options), context, std::move(store))) {}

/// Uncommitted records are folded again at the next start.
Home::~Home() = default;

void Home::start() {
    impl_->fold.start();
    impl_->tick();
}

/// Another node is about to serve, or this process after its next start: the store has tombstones
/// that the log may not have yet.
void Home::flush() {
    impl_->tombstone_outbox.flush();
    if (impl_->store->broken()) return;
    impl_->store->write_postponed(true);
    static_cast<void>(impl_->store->commit());  // without it a message is delivered once more
}

void Home::placed_here(core::Epoch floor) { impl_->leadership.placed_here(floor); }

void Home::placed_elsewhere() { impl_->leadership.placed_elsewhere(); }

void Home::receive(ToHome message) {
    std::visit(core::Overloaded{[&](const Attach& attach) { impl_->clients.attach(attach); },
                                [&](const FromClient& frame) { impl_->clients.receive(frame); },
                                [&](const Detach& gone) { impl_->clients.detach(gone); }},
               message);
    impl_->flush_or_turn();
}

void Home::front_lost(const core::NodeId& front) { impl_->clients.front_lost(front); }

Home::State Home::state() const {
    switch (impl_->fold.phase()) {
        case fold::Phase::opening: return State::starting;
        case fold::Phase::restoring: return State::restoring;
        case fold::Phase::following: break;
    }
    switch (impl_->leadership.state()) {
        case Leadership::State::standby: return State::standby;
        case Leadership::State::claiming: return State::claiming;
        case Leadership::State::serving: return State::serving;
    }
    return State::standby;
}

Home::Counters& Home::Counters::operator+=(const Counters& other) {
    const auto add = [](auto& to, const auto& from) {
        std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>{});
    };
    delivered += other.delivered;
    acked += other.acked;
    messages_read += other.messages_read;
    unknown_records += other.unknown_records;
    refused_frames += other.refused_frames;
    add(removed, other.removed);
    add(finished, other.finished);
    add(codes, other.codes);
    add(commands, other.commands);
    return *this;
}

Home::Status Home::status() const {
    Status out;
    out.state = state();
    out.epoch = impl_->leadership.epoch();
    out.notifications_next = impl_->fold.position(kNotificationsInput);
    out.subscriptions_next = impl_->fold.position(kSubscriptionsInput);
    out.sessions = impl_->sessions.size();
    out.pending_tombstones =
        impl_->leadership.serving() ? impl_->store->pending_tombstone_count() : 0;
    out.delivered = impl_->delivery.delivered();
    out.messages_read = impl_->store->messages_read();
    out.removed = impl_->removals.removed();
    const auto& clients = impl_->clients.counts();
    out.acked = clients.acked;
    out.refused_frames = clients.refused_frames;
    out.codes = clients.codes;
    out.commands = clients.commands;
    out.unknown_records = impl_->unknown_records;
    out.finished = impl_->finished;
    return out;
}

fold::Progress Home::progress() const { return impl_->fold.progress(); }

const std::optional<fold::Stuck>& Home::stuck() const { return impl_->fold.stuck(); }

namespace {

core::Timestamp wall_of(const core::Clock& clock, core::MonoTime at) {
    return clock.wall() - std::chrono::duration_cast<std::chrono::milliseconds>(clock.mono() - at);
}

}  // namespace

DeliveryNow Home::delivery_now(const core::MessageRef& message) const {
    if (!impl_->leadership.serving()) return {};
    const bool answered = impl_->store->tombstone_pending(message.uaid, message.key);
    const auto* session = impl_->sessions.of(message.uaid);
    DeliveryNow now{.served = true, .connected = session != nullptr, .answered = answered};
    if (const auto sent = impl_->sessions.sent(message.uaid, message.key)) {
        now.sent = wall_of(impl_->context.clock, sent->at);
        now.on_earlier_connection = !session || !session->sent_at(message.key);
    }
    return now;
}

ClientNow Home::client_now(const core::Uaid& client) const {
    if (!impl_->leadership.serving()) return {};
    const auto* session = impl_->sessions.of(client);
    if (!session) return {.served = true};
    const auto& clock = impl_->context.clock;
    ClientNow now{.served = true,
                  .attached_since = wall_of(clock, session->attached),
                  .edge = session->id.front,
                  .unanswered = session->unacked()};
    for (const auto& [key, at] : session->oldest_sent(ClientNow::kNamedMax)) {
        now.sent.emplace_back(key, wall_of(clock, at));
    }
    return now;
}

void Home::remove_client(const core::Uaid& client, std::function<void(ClientRemoval)> reply) {
    if (!impl_->leadership.serving()) return reply({});
    impl_->removals.erase(client, [reply = std::move(reply)](bool removed) {
        reply({.served = true, .removed = removed});
    });
}

std::optional<core::Timestamp> Home::log_now() const {
    const auto& clock = impl_->fold.log_clock(kNotificationsInput);
    if (!clock.learned()) return std::nullopt;
    return clock.now();
}

}  // namespace beckon::edge
