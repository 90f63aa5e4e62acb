#include "edge/home/home.hpp"

#include "core/assert.hpp"
#include "core/client_gone.hpp"
#include "core/codec.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "edge/frames.hpp"
#include "edge/home/delivery.hpp"
#include "edge/home/hellos.hpp"
#include "edge/home/outbox.hpp"
#include "edge/home/purges.hpp"
#include "edge/home/registrations.hpp"
#include "edge/home/sessions.hpp"
#include "edge/home/tenure.hpp"

#include <chrono>
#include <utility>

#include <prometheus/histogram.h>

namespace beckon::edge {

namespace {

constexpr core::Duration kTick = std::chrono::seconds{1};
/// Frames that wait for a commit that does not come; above it clients are sent away.
constexpr std::size_t kOutboxBytesMax = 64U << 20;

/// In the order of Options::inputs.
constexpr fold::InputIndex kNotificationsInput = 0;
constexpr fold::InputIndex kSubscriptionsInput = 1;

fold::Options fold_options(const HomeOptions& options) {
    return {.folder = "edge",
            .inputs = {{log::Topic::kNotifications, options.partition},
                       {log::Topic::kSubscriptions, options.partition}},
            .node = options.node,
            .group = "edge",
            .delete_retention = options.delete_retention,
            .standstill = options.session_timeout / 2};
}

store::Source source_of(fold::InputIndex input) {
    return input == kNotificationsInput ? store::Source::notifications
                                        : store::Source::subscriptions;
}

}  // namespace

/// Puts the parts together: records go to the part that they concern, and what follows from a
/// client's frame is applied in one place.
struct Home::Impl final : fold::State {
    Impl(HomeOptions o, Ports p, std::unique_ptr<store::PartitionStore> s);

    // --- fold::State
    std::optional<core::Checkpoint> checkpoint(fold::InputIndex input) const override {
        return store->checkpoint(source_of(input));
    }
    void replay(fold::InputIndex input, const core::RecordView& record) override;
    void advance(fold::InputIndex input, core::Offset next,
                 std::optional<core::Timestamp> caught_up) override {
        store->advance(source_of(input), next, caught_up);
    }
    bool dirty() const override { return store->dirty(); }
    core::Result<void> commit() override {
        read_failed = store->broken();
        return store->commit();
    }
    bool dropped_batch() const override { return read_failed; }
    core::Result<void> clear() override { return store->clear(); }
    void committed() override;
    void caught_up() override;
    void restarted(std::string_view) override { tenure.restarted(); }

    // --- records
    void replay_notification(const core::RecordView& record);
    void replay_subscription(const core::RecordView& record);
    void folded(bool won) {
        if (!won) registrations.lost();
    }
    void count_finished(const core::NotificationFinished& done);
    void unknown(log::Topic topic, core::Offset offset, const core::Unknown& record);

    // --- clients
    void attach(const Attach& message);
    void hear(const FromClient& message);
    void detach(const Detach& message);
    void front_lost(const core::NodeId& front);
    void identify(const SessionId& id, const Hellos::Offer& offer, const core::Uaid& uaid,
                  bool known);
    void apply(Session& session, Effects effects);
    void end(Session& session, Closing closing);
    void forget(const Session& session);

    // --- serving
    void began();
    void ended(Closing closing);
    void tick();
    void settle();

    core::Timestamp log_now() const { return fold.log_clock(kNotificationsInput).now(); }
    core::Offset position() const { return fold.position(kNotificationsInput); }

    const HomeOptions options;
    Ports ports;
    const std::unique_ptr<store::PartitionStore> store;
    bool read_failed = false;  ///< before the last commit, which failed for it
    FrameParser parser;
    core::DecodeScratch scratch;
    Status counters;

    fold::Fold fold;
    Outbox outbox;
    Sessions sessions;
    Delivery delivery;
    Debts debts;
    Purges purges;
    Registrations registrations;
    Removals removals;
    PendingLimit pending;
    Hellos hellos;
    Tenure tenure;
    std::uint64_t answered_hellos = 0;  ///< of the tenure
    core::Lifetime lifetime;
};

Home::Impl::Impl(HomeOptions o, Ports p, std::unique_ptr<store::PartitionStore> s)
    : options(std::move(o)),
      ports(p),
      store(std::move(s)),
      fold(fold_options(options), {ports.log, ports.publisher, ports.executor, ports.clock}, *this),
      outbox(ports.milestones),
      sessions({.window = {.messages = options.delivery_window,
                           .bytes = options.delivery_window_bytes,
                           .unacked = 10 * options.delivery_window},
                .ping_interval_min = options.ping_interval_min}),
      delivery({.store = *store,
                .sessions = sessions,
                .outbox = outbox,
                .clock = ports.clock,
                .log_now = [this] { return log_now(); },
                .position = [this] { return position(); },
                .times = ports.times}),
      debts(options.partition, {.store = *store,
                                .publisher = fold.publisher(),
                                .executor = ports.executor,
                                .clock = ports.clock,
                                .in_flight = ports.tombstones,
                                .milestones = ports.milestones,
                                .durable =
                                    [this](const store::Debt& debt) {
                                        auto* session = sessions.of(debt.uaid);
                                        if (!session) return;
                                        session->durable(debt.key);
                                        if (delivery.made_room(*session)) fold.request_turn();
                                    }}),
      purges(*store, delivery),
      registrations(
          {log::Topic::kSubscriptions, options.partition},
          {.endpoint_url = options.endpoint_url, .channels_max = options.channels_per_client},
          {.store = *store,
           .fold = fold,
           .executor = ports.executor,
           .clock = ports.clock,
           .tokens = ports.tokens,
           .sessions = sessions,
           .outbox = outbox,
           .purges = purges,
           .log_now = [this] { return log_now(); },
           .settle = [this] { settle(); }}),
      removals(options.client_ttl,
               {.store = *store,
                .fold = fold,
                .executor = ports.executor,
                .clock = ports.clock,
                .sessions = sessions,
                .registrations = registrations,
                .purges = purges,
                .log_now = [this] { return log_now(); },
                .end = [this](Session& session, Closing closing) { end(session, closing); },
                .settle = [this] { settle(); }}),
      pending(options.pending, {.store = *store,
                                .delivery = delivery,
                                .reset =
                                    [this](const core::Uaid& client) {
                                        removals.remove(client, Removals::Why::max_pending);
                                    }}),
      hellos(options.partition, options.partitions,
             {.store = *store,
              .fold = fold,
              .executor = ports.executor,
              .outbox = outbox,
              .settled = [this](const auto& id, const auto& offer, const auto& uaid,
                                bool known) { identify(id, offer, uaid, known); },
              .settle = [this] { settle(); }}),
      tenure(options.partition, options.node, fold.publisher(), ports.executor, fold,
             {.began = [this] { began(); }, .ended = [this](Closing closing) { ended(closing); }}),
      lifetime(ports.executor) {
    BECKON_ASSERT(options.partition >= 0 && options.partition < options.partitions,
                  "a partition is below their number");
}

// --- records

void Home::Impl::replay(fold::InputIndex input, const core::RecordView& record) {
    input == kNotificationsInput ? replay_notification(record) : replay_subscription(record);
}

void Home::Impl::replay_notification(const core::RecordView& record) {
    std::visit(core::Overloaded{[&](const core::NotificationAccepted& message) {
                                    const bool waits = delivery.fold(record, message);
                                    if (waits && tenure.serving()) {
                                        pending.waits(message.uaid, record.offset);
                                    }
                                },
                                [&](const core::NotificationFinished& done) {
                                    store->finish(done.uaid, done.key, record.time);
                                    debts.read_back(done.key);
                                    count_finished(done);
                                    delivery.finished(done.uaid, done.key, done.reason);
                                },
                                [](const core::Mark&) {},
                                [&](const core::Lease& seen) {
                                    tenure.read(log::Topic::kNotifications, record.offset, seen);
                                },
                                [&](const core::Unknown& what) {
                                    unknown(log::Topic::kNotifications, record.offset, what);
                                }},
               core::decode_notification(record, scratch));
}

/// Each node with a copy of the partition reads the tombstone; the one that serves counts it.
void Home::Impl::count_finished(const core::NotificationFinished& done) {
    if (!tenure.serving()) return;
    ++counters.finished[static_cast<std::size_t>(done.reason)];
    if (!core::log_enabled(core::LogLevel::debug)) return;
    core::log_debug("edge", "message_finished",
                    {{"message", core::log_name(done.key)},
                     {"client", core::log_name(done.uaid)},
                     {"reason", core::to_string(done.reason)}});
}

/// A record that lost was written by a former home. Own records never lose: they come in order.
void Home::Impl::replay_subscription(const core::RecordView& record) {
    if (core::decode_client_gone(record)) return;  // of a bridged client: the endpoints' concern
    std::visit(
        core::Overloaded{
            [&](const core::ClientRecorded& e) { folded(store->put_client(e)); },
            [&](const core::ClientRemoved& e) {
                folded(store->remove_client(e, record.time));
                registrations.lost();  // the records of its channels are in the log still
            },
            [&](const core::ChannelRecorded& e) { folded(store->put_channel(e)); },
            [&](const core::ChannelRemoved& e) { folded(store->remove_channel(e, record.time)); },
            [](const core::Mark&) {},
            [&](const core::Lease& seen) {
                tenure.read(log::Topic::kSubscriptions, record.offset, seen);
            },
            [&](const core::Unknown& what) {
                unknown(log::Topic::kSubscriptions, record.offset, what);
            }},
        core::decode_subscription(record, scratch));
}

void Home::Impl::unknown(log::Topic topic, core::Offset offset, const core::Unknown& record) {
    ++counters.unknown_records;
    core::log_warn("edge", "unknown_record",
                   {{"topic", topic.name()},
                    {"partition", options.partition},
                    {"offset", offset},
                    {"why", record.why}});
}

// --- turns

/// Everything that was folded and decided is in the store: what follows from it leaves now. Work
/// that is left over has a budget, and what it decides waits for the next turn's commit.
void Home::Impl::committed() {
    tenure.committed();
    outbox.flush(ports.fronts);
    if (!tenure.serving()) return;
    debts.committed();
    bool more = hellos.turn();
    more |= purges.turn(log_now(), position());
    more |= pending.turn(log_now(), position());
    more |= delivery.turn();
    more |= registrations.write_over_contested();
    settle();
    if (more) fold.request_turn();
}

/// The one place where decisions made outside of a turn take their way: out at once if they follow
/// from nothing that is not committed.
void Home::Impl::settle() {
    if (store->dirty()) {
        fold.request_turn();
    } else {
        outbox.flush(ports.fronts);
    }
}

void Home::Impl::caught_up() {
    if (!tenure.wanted()) hellos.release_all(closing::kNotServing);
    tenure.caught_up();
}

void Home::Impl::began() {
    answered_hellos = 0;
    registrations.begin(tenure.epoch());
    removals.begin();
    delivery.serve();
    debts.begin();
    fold.report_offsets(true);
}

void Home::Impl::ended(Closing closing) {
    debts.flush();
    debts.stop();
    registrations.stop();
    removals.stop();
    purges.clear();
    pending.clear();
    delivery.stop();
    outbox.drop_frames();
    hellos.release_all(closing);
    for (const auto& [uaid, session] : sessions) outbox.release(session.id, closing);
    sessions.clear();
    outbox.flush(ports.fronts);  // these follow from no record
    fold.report_offsets(false);
}

void Home::Impl::tick() {
    if (tenure.serving()) {
        registrations.tick();
        removals.tick();
        delivery.tick();
        fold.request_turn();
    }
    ports.executor.post_after(kTick, lifetime.guard([this] { tick(); }));
}

// --- clients

void Home::Impl::attach(const Attach& message) {
    if (!message.again) {
        const auto frame = parser.parse(message.hello);
        if (!frame || !std::holds_alternative<Hello>(*frame)) {
            ++counters.refused_frames;
            return outbox.close(message.session,
                                frame ? closing::kOutOfPlace : closing_for(frame.error()));
        }
        ++counters.commands[frame->index()];
    }
    const Hellos::Offer offer{
        .uaid = message.uaid, .by_client = message.offered, .again = message.again};
    if (tenure.serving()) return hellos.answer(message.session, offer);
    const bool soon = tenure.wanted() || fold.phase() != fold::Phase::following;
    if (!soon) return outbox.release(message.session, closing::kNotServing);
    hellos.keep(message.session, offer);
}

void Home::Impl::identify(const SessionId& id, const Hellos::Offer& offer, const core::Uaid& uaid,
                          bool known) {
    if (removals.holds(uaid)) return outbox.close(id, closing::kRemoved);
    const auto stamp =
        offer.again ? offer.again->stamp : SessionStamp{tenure.epoch(), ++answered_hellos};
    if (auto* other = sessions.of(uaid)) {
        if (other->stamp > stamp) return outbox.close(id, closing::kReplaced);
        end(*other, closing::kReplaced);  // the later hello wins
    }
    auto& session = sessions.open(id, uaid, offer.uaid);
    session.stamp = stamp;
    session.persisted = known;
    registrations.attached(session);
    outbox.attached({.session = id, .uaid = uaid, .stamp = stamp, .persisted = known});
    if (!offer.again) outbox.frame(id, hello_frame(uaid));
    if (!known) return;
    delivery.attached(session);
    fold.request_turn();
}

void Home::Impl::hear(const FromClient& message) {
    if (auto* session = sessions.find(message.session, message.uaid)) {
        apply(*session, session->on(message.text, parser, ports.tokens, ports.clock.mono()));
        return;
    }
    if (hellos.forget(message.session)) {
        outbox.close(message.session, closing::kOutOfPlace);
    } else {
        outbox.release(message.session, closing::kNotAttached);
    }
}

void Home::Impl::detach(const Detach& message) {
    hellos.forget(message.session);
    if (auto* session = sessions.find(message.session, message.uaid)) forget(*session);
}

void Home::Impl::front_lost(const core::NodeId& front) {
    hellos.forget_front(front);
    for (const auto& uaid : sessions.of_front(front)) forget(*sessions.of(uaid));
}

/// Decisions go into the store's next batch; what the client hears of them leaves with it.
void Home::Impl::apply(Session& session, Effects effects) {
    if (effects.command) ++counters.commands[*effects.command];
    for (const auto code : effects.codes) ++counters.codes[code];
    for (auto& frame : effects.frames) outbox.frame(session.id, std::move(frame.text));
    for (const auto& [message, as, code] : effects.acked) {
        if (!store->owe(session.uaid, message, core::FinishReason::acked, as)) {
            delivery.acknowledged(message, as);
            continue;
        }
        session.owed(message);
        if (code) debts.said(message, *code);
        ++counters.acked;
        if (!core::log_enabled(core::LogLevel::debug)) continue;
        core::log_debug(
            "edge", "message_acked",
            {{"message", core::log_name(message)}, {"client", core::log_name(session.uaid)}});
    }
    for (const auto& [message, as, code] : effects.nacked) {
        if (auto tracked = store->tracked(session.uaid, message)) {
            outbox.report({.message = std::move(*tracked), .reached = {as}, .logged = {}});
        }
    }
    for (const auto sent : session.take_acked()) {
        if (!ports.times.frame_to_ack) break;
        const std::chrono::duration<double> waited = ports.clock.mono() - sent;
        ports.times.frame_to_ack->Observe(waited.count());
    }
    for (const auto& change : effects.changes) registrations.change(session, change);
    if (effects.close) {
        ++counters.refused_frames;
        return end(session, *effects.close);
    }
    if (outbox.bytes() > kOutboxBytesMax) return end(session, closing::kOverloaded);
    if (delivery.made_room(session)) fold.request_turn();
}

void Home::Impl::end(Session& session, Closing closing) {
    outbox.close(session.id, closing);
    forget(session);
}

void Home::Impl::forget(const Session& session) {
    registrations.detached(session);
    sessions.erase(core::Uaid{session.uaid});  // the session goes, its uaid with it
}

// --- Home

Home::Home(HomeOptions options, Ports ports, std::unique_ptr<store::PartitionStore> store)
    : impl_(std::make_unique<Impl>(std::move(options), ports, std::move(store))) {}

/// What the store has not committed is folded again at the next start.
Home::~Home() = default;

void Home::start() {
    impl_->fold.start();
    impl_->tick();
}

void Home::flush() { impl_->debts.flush(); }

void Home::placed_here(core::Epoch floor) { impl_->tenure.placed_here(floor); }

void Home::placed_elsewhere() { impl_->tenure.placed_elsewhere(); }

void Home::receive(ToHome message) {
    std::visit(core::Overloaded{[&](const Attach& attach) { impl_->attach(attach); },
                                [&](const FromClient& frame) { impl_->hear(frame); },
                                [&](const Detach& gone) { impl_->detach(gone); }},
               message);
    impl_->settle();
}

void Home::front_lost(const core::NodeId& front) { impl_->front_lost(front); }

Home::State Home::state() const {
    switch (impl_->fold.phase()) {
        case fold::Phase::opening: return State::starting;
        case fold::Phase::restoring: return State::restoring;
        case fold::Phase::following: break;
    }
    switch (impl_->tenure.state()) {
        case Tenure::State::standby: return State::standby;
        case Tenure::State::claiming: return State::claiming;
        case Tenure::State::serving: return State::serving;
    }
    return State::standby;
}

Home::Status Home::status() const {
    auto out = impl_->counters;
    out.state = state();
    out.epoch = impl_->tenure.epoch();
    out.notifications_next = impl_->fold.position(kNotificationsInput);
    out.subscriptions_next = impl_->fold.position(kSubscriptionsInput);
    out.sessions = impl_->sessions.size();
    out.owed = impl_->tenure.serving() ? impl_->store->debt_count() : 0;
    out.delivered = impl_->delivery.delivered();
    out.messages_read = impl_->store->messages_read();
    out.removed = impl_->removals.removed();
    return out;
}

fold::Progress Home::progress() const { return impl_->fold.progress(); }

const std::optional<fold::Stuck>& Home::stuck() const { return impl_->fold.stuck(); }

std::optional<core::Timestamp> Home::log_now() const {
    const auto& clock = impl_->fold.log_clock(kNotificationsInput);
    if (!clock.learned()) return std::nullopt;
    return clock.now();
}

}  // namespace beckon::edge
