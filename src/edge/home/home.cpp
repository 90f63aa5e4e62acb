#include "edge/home/home.hpp"

#include "core/assert.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "core/record.hpp"
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

fold::Options fold_options(core::Partition partition, const EdgeOptions& options) {
    return {.folder = "edge",
            .inputs = {{log::Topic::kNotifications, partition},
                       {log::Topic::kSubscriptions, partition}},
            .node = options.node,
            .group = "edge",
            .applies_backpressure = true,
            .delete_retention = options.delete_retention,
            .stall_after = options.session_timeout / 2};
}

}  // namespace

Home::Home(core::Partition partition, const HomeContext& context,
           std::unique_ptr<store::PartitionStore> store)
    : options_(context.options),
      store_(std::move(store)),
      fold_(fold_options(partition, options_),
            {context.log, context.publisher, context.executor, context.clock}, *this),
      output_(options_.milestones),
      sessions_(options_),
      parts_{context, partition, *store_, fold_, sessions_, output_, *this, counters_},
      delivery_(parts_),
      tombstone_outbox_(parts_, delivery_),
      registrations_(parts_, delivery_),
      removals_(parts_, registrations_),
      pending_(parts_, delivery_),
      leadership_(parts_),
      clients_(parts_, {.leadership = leadership_,
                        .delivery = delivery_,
                        .tombstone_outbox = tombstone_outbox_,
                        .registrations = registrations_,
                        .removals = removals_}),
      lifetime_(context.executor) {
    BECKON_ASSERT(partition >= 0 && partition < options_.partitions,
                  "a partition is below their number");
}

/// Uncommitted records are folded again at the next start.
Home::~Home() = default;

void Home::replay(fold::InputIndex input, const core::RecordView& record) {
    input == kNotificationsInput ? notification(record) : subscription(record);
}

/// Nothing that leaves depends on its rows being written: a home that is killed folds the last
/// second again, from the log.
bool Home::dirty() const {
    if (!store_->dirty()) return false;
    return commit_now_ || fold_.phase() != fold::Phase::following || store_->broken() ||
           store_->changed_rows() >= kCommitRowsMax || store_->changed_bytes() >= kCommitBytesMax ||
           (commit_at_ && parts_.clock.mono() >= *commit_at_);
}

core::Result<void> Home::commit() {
    read_failed_ = store_->broken();
    auto written = store_->commit();
    commit_now_ = !written;
    if (written) commit_at_.reset();
    return written;
}

void Home::notification(const core::RecordView& record) {
    std::visit(core::Overloaded{[&](const core::NotificationAccepted& message) {
                                    const bool waits = delivery_.fold(record, message);
                                    if (waits && leadership_.serving()) {
                                        pending_.waits(message.uaid, record.offset);
                                    }
                                },
                                [&](const core::NotificationFinished& done) {
                                    if (!is_repeated(done)) count_finished(done);
                                    store_->finish(done, record.time);
                                    if (!is_repeated(done)) {
                                        tombstone_outbox_.read_back(done.key);
                                    }
                                    delivery_.finished(done.uaid, done.key, done.reason);
                                },
                                [](const core::BarrierRecord&) {},
                                [&](const core::Lease& seen) {
                                    leadership_.read(log::Topic::kNotifications, seen);
                                },
                                [&](const core::Unknown& what) {
                                    unknown(log::Topic::kNotifications, record.offset, what);
                                }},
               core::decode_notification(record, scratch_));
}

/// A deleted message with a pending tombstone: that one is counted, and read back.
bool Home::is_repeated(const core::NotificationFinished& done) const {
    return done.reason == core::FinishReason::deleted &&
           store_->tombstone_pending(done.uaid, done.key);
}

/// Each node with a copy of the partition reads the tombstone; the one that serves counts it.
void Home::count_finished(const core::NotificationFinished& done) {
    if (!leadership_.serving()) return;
    ++counters_.finished[done.reason];
    if (!core::log_enabled(core::LogLevel::debug)) return;
    core::log_debug("edge", "message_finished",
                    {{"message", core::log_name(done.key)},
                     {"client", core::log_name(done.uaid)},
                     {"reason", core::to_string(done.reason)}});
}

/// A record that lost was written by a former home. Own records never lose: they come in order.
void Home::subscription(const core::RecordView& record) {
    if (core::decode_client_gone(record)) return;  // of a bridged client: the endpoints' concern
    std::visit(
        core::Overloaded{
            [&](const core::ClientRecorded& e) {
                registrations_.saw(e.stamp);
                folded(store_->put_client(e));
            },
            [&](const core::ClientRemoved& e) {
                folded(store_->remove_client(e, record.time));
                // The records of its channels are in the log still.
                registrations_.repair_is_due();
            },
            [&](const core::ChannelRecorded& e) {
                registrations_.saw(e.stamp);
                folded(store_->put_channel(e));
            },
            [&](const core::ChannelRemoved& e) { folded(store_->remove_channel(e, record.time)); },
            [](const core::BarrierRecord&) {},
            [&](const core::Lease& seen) { leadership_.read(log::Topic::kSubscriptions, seen); },
            [&](const core::Unknown& what) {
                unknown(log::Topic::kSubscriptions, record.offset, what);
            }},
        core::decode_subscription(record, scratch_));
}

void Home::unknown(log::Topic topic, core::Offset offset, const core::Unknown& record) {
    ++counters_.unknown_records;
    core::log_sparsely(core::LogLevel::warn, "edge", "unknown_record",
                       {{"topic", topic.name()},
                        {"partition", parts_.partition},
                        {"offset", offset},
                        {"why", record.why}});
}

// --- turns

/// The frames and records that follow from the turn leave now.
/// Left-over work has a budget, and its decisions wait for the next turn.
void Home::turn_ended() {
    leadership_.turn_ended();
    output_.flush(parts_.fronts);
    if (!commit_at_ && store_->dirty())
        commit_at_ = parts_.clock.mono() + commit_after(parts_.partition);
    if (!leadership_.serving()) return;
    tombstone_outbox_.take_new();
    bool more = clients_.turn();
    more |= registrations_.turn();
    more |= pending_.turn();
    more |= delivery_.turn();
    flush_or_turn();
    if (more) fold_.request_turn();
}

/// The one place where decisions made outside of a turn leave: at once, unless a write of the store
/// is due, which may fail. Acknowledgements that the store postpones do not wait
/// for a commit: their tombstones are published, without a report.
void Home::flush_or_turn() {
    if (dirty()) return fold_.request_turn();
    output_.flush(parts_.fronts);
    tombstone_outbox_.take_new();
}

void Home::caught_up() {
    if (!leadership_.wanted()) clients_.release_hellos(closing::kNotServing);
    leadership_.caught_up();
}

void Home::began() {
    clients_.began();
    registrations_.begin(leadership_.epoch());
    removals_.begin();
    delivery_.serve();
    tombstone_outbox_.begin();
    fold_.report_offsets(true);
}

void Home::ended(Closing closing) {
    tombstone_outbox_.flush();
    tombstone_outbox_.stop();
    store_->write_postponed(true);
    commit_now_ = true;
    fold_.request_turn();
    registrations_.stop();
    removals_.stop();
    pending_.clear();
    delivery_.stop();
    output_.drop_frames();
    clients_.release_hellos(closing);
    for (const auto& [uaid, session] : sessions_) output_.release(session.id, closing);
    sessions_.clear();
    output_.flush(parts_.fronts);  // these follow from no record
    fold_.report_offsets(false);
}

void Home::tick() {
    // First: an exception below must not end the later ones.
    parts_.executor.post_after(kTick, lifetime_.guard([this] { tick(); }));
    if (leadership_.serving()) {
        registrations_.tick();
        removals_.tick();
        delivery_.tick();
        if (!fold_.stalled()) tombstone_outbox_.outcomes().expire();
        store_->write_postponed(false);
    }
    fold_.request_turn();
}

// --- calls of the shard

void Home::start() {
    fold_.start();
    tick();
}

/// Another node is about to serve, or this process after its next start: the store has tombstones
/// that the log may not have yet.
void Home::flush() {
    tombstone_outbox_.flush();
    if (store_->broken()) return;
    store_->write_postponed(true);
    static_cast<void>(store_->commit());  // without it a message is delivered once more
}

void Home::placed_here(core::Epoch floor) { leadership_.placed_here(floor); }

void Home::placed_elsewhere() { leadership_.placed_elsewhere(); }

void Home::receive(ToHome message) {
    std::visit(core::Overloaded{[&](const Attach& attach) { clients_.attach(attach); },
                                [&](const FromClient& frame) { clients_.receive(frame); },
                                [&](const Detach& gone) { clients_.detach(gone); }},
               message);
    flush_or_turn();
}

void Home::front_lost(const core::NodeId& front) { clients_.front_lost(front); }

Home::State Home::state() const {
    switch (fold_.phase()) {
        case fold::Phase::opening: return State::starting;
        case fold::Phase::restoring: return State::restoring;
        case fold::Phase::following: break;
    }
    switch (leadership_.state()) {
        case Leadership::State::standby: return State::standby;
        case Leadership::State::claiming: return State::claiming;
        case Leadership::State::serving: return State::serving;
    }
    return State::standby;
}

Home::Status Home::status() const {
    return {counters_,
            state(),
            leadership_.epoch(),
            fold_.position(kNotificationsInput),
            fold_.position(kSubscriptionsInput),
            sessions_.size(),
            leadership_.serving() ? store_->pending_tombstone_count() : 0,
            store_->messages_read()};
}

fold::Progress Home::progress() const { return fold_.progress(); }

const std::optional<fold::Stuck>& Home::stuck() const { return fold_.stuck(); }

namespace {

core::Timestamp wall_of(const core::Clock& clock, core::MonoTime at) {
    return clock.wall() - std::chrono::duration_cast<std::chrono::milliseconds>(clock.mono() - at);
}

}  // namespace

DeliveryNow Home::delivery_now(const core::MessageRef& message) const {
    if (!leadership_.serving()) return {};
    const bool answered = store_->tombstone_pending(message.uaid, message.key);
    const auto* session = sessions_.of(message.uaid);
    DeliveryNow now{.served = true, .connected = session != nullptr, .answered = answered};
    if (const auto sent = sessions_.sent(message.uaid, message.key)) {
        now.sent = wall_of(parts_.clock, sent->at);
        now.on_earlier_connection = !session || !session->sent_at(message.key);
    }
    return now;
}

ClientNow Home::client_now(const core::Uaid& client) const {
    if (!leadership_.serving()) return {};
    const auto* session = sessions_.of(client);
    if (!session) return {.served = true};
    const auto& clock = parts_.clock;
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
    if (!leadership_.serving()) return reply({});
    removals_.erase(client, [reply = std::move(reply)](bool removed) {
        reply({.served = true, .removed = removed});
    });
}

std::optional<core::Timestamp> Home::log_now() const {
    const auto& clock = fold_.log_clock(kNotificationsInput);
    if (!clock.learned()) return std::nullopt;
    return clock.now();
}

}  // namespace beckon::edge
