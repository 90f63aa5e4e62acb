#include "edge/home/home.hpp"

#include "core/assert.hpp"
#include "edge/home/home_impl.hpp"
#include "fold/trust.hpp"

namespace beckon::edge {

using core::Fault;

Home::Impl::Impl(HomeOptions o, Ports p, std::unique_ptr<store::PartitionStore> s)
    : options(std::move(o)),
      limits{.window = options.delivery_window, .unacked_max = 10 * options.delivery_window},
      ports(p),
      publisher(ports.publisher, ports.executor, ports.clock),
      store(std::move(s)),
      random(static_cast<unsigned>(std::hash<std::string>{}(options.node.text) +
                                   static_cast<std::size_t>(options.partition))) {
    for (const auto* input : {&notifications, &subscriptions}) {
        publisher.teach({input->topic, options.partition}, ports.log_clock);
    }
    BECKON_ASSERT(options.partition >= 0 && options.partition < options.partitions,
                  "a partition is below their number");
}

void Home::Impl::start() {
    lease = std::make_unique<cluster::PartitionLease>(
        options.partition, options.node, "edge", ports.publisher,
        cluster::PartitionLease::Events{.serving = [this](core::Epoch) { begin_serving = true; },
                                        .lost = [this](const core::Error& why) { lost(why); }});
    last_tick = ports.clock.mono();
    learn_time();
    tick();
}

void Home::Impl::later(core::Duration delay, void (Impl::*task)()) {
    ports.executor.post_after(delay, guarded([task](Impl& self) { (self.*task)(); }));
}

/// Trust in a checkpoint is a matter of log time, so a first record asks the log what time it is.
void Home::Impl::learn_time() {
    publisher.publish({log::Topic::kNotifications, options.partition},
                      core::encode(core::Mark{options.node.text}),
                      guarded([](Impl& self, const core::Result<log::Appended>& at) {
                          if (!at) {
                              self.later(kRetryAfter, &Impl::learn_time);
                              return;
                          }
                          self.ask_ends();
                      }));
}

void Home::Impl::ask_ends() {
    auto& executor = ports.executor;
    ports.log.ends({log::Topic::kNotifications, options.partition}, executor,
                   guarded([&executor](Impl& self, core::Result<log::Ends> n) {
                       if (!n) {
                           self.later(kRetryAfter, &Impl::ask_ends);
                           return;
                       }
                       self.ports.log.ends(
                           {log::Topic::kSubscriptions, self.options.partition}, executor,
                           self.guarded([n = *n](Impl& again, core::Result<log::Ends> s) {
                               if (!s) {
                                   again.later(kRetryAfter, &Impl::ask_ends);
                                   return;
                               }
                               again.begin_folding(n, *s);
                           }));
                   }));
}

bool Home::Impl::trusts_checkpoints(const log::Ends& n, const log::Ends& s) const {
    const auto trusted = [this](store::Source source, const log::Ends& ends) {
        return fold::is_trusted(store->checkpoint(source).value_or(core::Checkpoint{}), ends.start,
                                ends.end, ports.log_clock.now(), options.delete_retention);
    };
    return trusted(store::Source::notifications, n) && trusted(store::Source::subscriptions, s);
}

void Home::Impl::begin_folding(const log::Ends& of_notifications,
                               const log::Ends& of_subscriptions) {
    restoring_since.reset();
    if (!trusts_checkpoints(of_notifications, of_subscriptions)) {
        if (const auto cleared = store->clear(); !cleared) {
            core::log_warn("edge", "store_not_cleared",
                           {{"partition", options.partition}, {"why", cleared.error().message}});
            later(kRetryAfter, &Impl::ask_ends);
            return;
        }
        restoring_since = ports.log_clock.now();
    }
    core::log_info("edge", "folding",
                   {{"partition", options.partition},
                    {"from", restoring_since ? "the log's start" : "checkpoint"}});
    state = State::restoring;
    open(notifications);
    open(subscriptions);
}

void Home::Impl::open(Input& input) {
    const log::TopicPartition where{input.topic, options.partition};
    input.next = store->checkpoint(input.source).value_or(core::Checkpoint{}).next;
    input.drained = false;
    input.caught_up = {};
    input.marker = std::make_unique<fold::Marker>(where, options.node, publisher, ports.executor);
    input.reader = ports.log.open_reader(where, input.next, ports.executor,
                                         guarded([](Impl& self) { self.schedule_turn(); }));
}

void Home::Impl::close_inputs() {
    for (auto* input : {&notifications, &subscriptions}) {
        input->reader.reset();
        input->marker.reset();
    }
}

/// The state cannot be gone on with: it is rebuilt from the log (promise 4).
void Home::Impl::restart(std::string_view why) {
    core::log_warn("edge", "restoring_anew", {{"partition", options.partition}, {"why", why}});
    lease->release();
    stop_serving("restoring");
    state = State::starting;
    ++life;
    marks_asked = false;
    commit_failed = false;
    turn_posted = false;
    close_inputs();
    later(core::Duration::zero(), &Impl::ask_ends);
    tick();
}

void Home::Impl::ask_marks(std::function<void(const core::Result<void>&)> done) {
    notifications.marker->ask(
        guarded([done = std::move(done)](Impl& self, const core::Result<void>& first) {
            if (!first) {
                done(first);
                return;
            }
            self.subscriptions.marker->ask(
                self.guarded([done](Impl&, const core::Result<void>& second) { done(second); }));
        }));
}

/// Both readers say that nothing more was there; marks prove it.
void Home::Impl::caught_up() {
    if (std::exchange(marks_asked, true)) return;
    ask_marks([this](const core::Result<void>& marked) {
        if (state != State::restoring) return;
        if (!marked) {
            marks_asked = false;
            later(kRetryAfter, &Impl::schedule_turn);
            return;
        }
        // Tombstones may have gone while it read: what it has is no better than an old checkpoint.
        if (restoring_since &&
            ports.log_clock.now() - *restoring_since > options.delete_retention / 2) {
            if (const auto cleared = store->clear(); cleared) {
                restart("the restore took longer than tombstones are kept");
            } else {
                marks_asked = false;
                later(kRetryAfter, &Impl::schedule_turn);
            }
            return;
        }
        state = State::standby;
        core::log_info("edge", "caught_up", {{"partition", options.partition}});
        if (wanted) claim();
    });
}

void Home::Impl::take(core::Epoch at_least) {
    wanted = true;
    floor = std::max(floor, at_least);
    if (state == State::standby) claim();
}

void Home::Impl::claim() {
    state = State::claiming;
    ask_marks([this](const core::Result<void>& marked) {
        if (state != State::claiming ||
            lease->state() != cluster::PartitionLease::State::following) {
            return;
        }
        if (!marked) {
            state = State::standby;
            reclaim_later();
            return;
        }
        lease->claim(floor);
    });
}

void Home::Impl::reclaim_later() {
    const auto jitter = kReclaimAfter * static_cast<int>(random() % 1000) / 1000;
    ports.executor.post_after(kReclaimAfter + jitter, guarded([](Impl& self) {
                                  if (self.wanted && self.state == State::standby) self.claim();
                              }));
}

void Home::Impl::give_up() {
    wanted = false;
    lease->release();
    if (state == State::claiming || state == State::serving) state = State::standby;
    stop_serving("moved");
}

void Home::Impl::lost(const core::Error& why) {
    core::log_warn("edge", "lease_lost",
                   {{"partition", options.partition},
                    {"fault", core::to_string(why.fault)},
                    {"why", why.message}});
    if (state == State::claiming || state == State::serving) state = State::standby;
    stop_serving("lease lost");
    if (wanted) reclaim_later();
}

/// From here on nothing is decided, published or answered: another home may do so.
void Home::Impl::stop_serving(std::string_view why) {
    begin_serving = false;
    debts.reset();
    changes.clear();
    changes_by_offset.clear();
    outbox.clear();
    const Closing closing{CloseCode::try_again, why};
    for (const auto& [id, session] : awaiting) close(id, closing);
    for (const auto& [uaid, session] : sessions) close(session.id, closing);
    awaiting.clear();
    sessions.clear();
    renamed.clear();
    refill_soon.clear();
    blocked.clear();
    seen_due.clear();
}

void Home::Impl::start_serving() {
    begin_serving = false;
    state = State::serving;
    serving_since = ports.clock.mono();
    suspect = false;
    seq = 0;
    debts =
        std::make_unique<Debts>(options.partition, options.node, ports.publisher, ports.executor,
                                [this](const store::Debt& debt) { durable(debt); });
    debts->add(store->debts());
    core::log_info("edge", "serving",
                   {{"partition", options.partition}, {"epoch", lease->epoch()}});
    for (auto& [id, session] : std::exchange(awaiting, {})) answer_hello(std::move(session));
}

void Home::Impl::notice_standstill() {
    if (ports.clock.mono() - last_tick > kTick + options.session_timeout / 2) suspect = true;
}

void Home::Impl::tick() {
    notice_standstill();
    const auto now = ports.clock.mono();
    last_tick = now;
    if (suspect && state == State::serving) {
        ask_marks([this](const core::Result<void>& marked) {
            if (marked) suspect = false;
        });
    }
    if (state == State::serving && now - serving_since > kTakeoverGrace) held.clear();
    while (!held.empty() && ports.log_clock.now() - held.front().appended > kTakeoverGrace) {
        held.pop_front();
    }
    refill_soon.insert(blocked.begin(), blocked.end());
    while (state == State::serving && !seen_due.empty() && seen_due.begin()->first <= now) {
        const auto due = sessions.find(seen_due.begin()->second);
        seen_due.erase(seen_due.begin());
        if (due != sessions.end()) see(due->second);
    }
    if (notifications.reader) schedule_turn();
    later(kTick, &Impl::tick);
}

Home::Home(HomeOptions options, Ports ports, std::unique_ptr<store::PartitionStore> store)
    : impl_(std::make_shared<Impl>(std::move(options), ports, std::move(store))) {}

Home::~Home() {
    impl_->state = State::stopped;
    ++impl_->life;
    impl_->close_inputs();
    impl_->lease.reset();
    impl_->debts.reset();
    // What the store has not committed is folded again at the next start.
}

void Home::start() { impl_->start(); }

void Home::take(core::Epoch floor) { impl_->take(floor); }

void Home::give_up() { impl_->give_up(); }

void Home::receive(ToHome message) {
    const auto impl = impl_;
    std::visit(core::Overloaded{[&](Attach& attach) { impl->attach(std::move(attach)); },
                                [&](FromClient& frame) { impl->hear(std::move(frame)); },
                                [&](Detach& gone) { impl->detach(gone); }},
               message);
}

Home::State Home::state() const { return impl_->state; }

Home::Status Home::status() const {
    auto out = impl_->counters;
    out.state = impl_->state;
    out.epoch = impl_->lease ? impl_->lease->epoch() : 0;
    out.notifications_next = impl_->notifications.next;
    out.subscriptions_next = impl_->subscriptions.next;
    out.sessions = impl_->sessions.size();
    out.owed = impl_->debts ? impl_->debts->size() : 0;
    return out;
}

}  // namespace beckon::edge
