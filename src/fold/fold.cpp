#include "fold/fold.hpp"

#include "core/lasting_executor.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "fold/backoff.hpp"
#include "fold/input.hpp"
#include "fold/offset_reports.hpp"
#include "fold/opening.hpp"
#include "fold/questions.hpp"
#include "fold/teaching_publisher.hpp"
#include "fold/troubles.hpp"
#include "fold/trust.hpp"

#include <algorithm>
#include <utility>

namespace beckon::fold {

using core::Error;
using core::Fault;

namespace {

constexpr core::Duration kTick = std::chrono::seconds{1};
constexpr core::Duration kEndsEvery = std::chrono::seconds{10};
/// A fold that took so long to catch up says so; the others only at debug, for there are many.
constexpr core::Duration kWorthALine = std::chrono::seconds{5};
/// After the log did not answer.
constexpr core::Duration kLogRetryFirst = std::chrono::milliseconds{250};
constexpr core::Duration kLogRetryMost = std::chrono::seconds{4};
/// After the state could not be written or cleared: mostly the disk is behind for a moment.
constexpr core::Duration kStateRetryFirst = std::chrono::milliseconds{10};
constexpr core::Duration kStateRetryMost = std::chrono::milliseconds{640};

/// "subscriptions/3", or "notifications/3+1" for a fold of two inputs.
std::string name_of(const std::vector<log::TopicPartition>& inputs) {
    const auto& first = inputs.front();
    auto name = first.topic.name() + "/" + std::to_string(first.partition);
    if (inputs.size() > 1) name += "+" + std::to_string(inputs.size() - 1);
    return name;
}

}  // namespace

std::string_view to_string(Phase phase) {
    switch (phase) {
        case Phase::opening: return "opening";
        case Phase::restoring: return "restoring";
        case Phase::following: return "following";
    }
    return "";
}

struct Fold::Impl {
    Impl(Options o, Ports p, State& s);
    ~Impl();

    // --- a life: from opening to a restart
    void heard_all_ends();
    bool trusts_checkpoints() const;
    void open_all(bool anew);
    void open(InputIndex input);
    void restart(std::string_view why, core::Duration pause);
    void clear_and_restart(std::string_view why);
    void close();

    // --- a turn
    void schedule_turn();
    void turn();
    bool take_all();
    bool take(InputIndex input, std::size_t& budget);
    void tell(InputIndex input);
    void not_read(InputIndex input, const Error& why);
    bool commit();
    void not_committed(const Error& why);
    bool has_gone_back() const;
    void settle(bool more);
    void see_whether_caught_up();
    void caught_up();

    // --- questions
    void confirm(const std::vector<InputIndex>& of, Answer answer);
    void when_folded(InputIndex input, core::Offset offset, Answer answer);
    std::vector<InputIndex> all() const;

    // --- every second
    void tick();
    void notice_standstill();
    void look_at_ends();
    void look_at_end(InputIndex input);
    void ask_for_reports();
    void phase_is(Phase now);

    const Options options;
    const Ports ports;
    State& state;
    const std::string name;

    Inputs inputs;
    TeachingPublisher publisher;
    Troubles troubles;
    OffsetReports reports;
    Opening opening;
    Questions questions;
    Backoff log_retry{kLogRetryFirst, kLogRetryMost};
    Backoff state_retry{kStateRetryFirst, kStateRetryMost};

    Phase phase = Phase::opening;
    bool from_start = false;
    core::MonoTime opened_at{};
    bool marks_asked = false;  ///< those that end a restore
    core::MonoTime ends_asked{};

    bool turn_posted = false;
    bool commit_failed = false;   ///< what is gathered goes to the state before more is
    std::size_t first_input = 0;  ///< of the next turn: inputs take turns at being first

    bool suspect = false;
    bool suspicion_asked = false;
    core::MonoTime last_tick{};

    core::Lifetime lifetime;  ///< of the fold
    core::Lifetime life;      ///< of one life of it: renewed by each restart
};

Fold::Impl::Impl(Options o, Ports p, State& s)
    : options(std::move(o)),
      ports(p),
      state(s),
      name(name_of(options.inputs)),
      publisher(p.publisher, p.executor, p.clock),
      troubles(options.folder, name, p.clock),
      reports(options.group, p.log, p.executor, p.clock),
      opening(inputs, options.node, {p.log, publisher, p.executor, troubles},
              Backoff{kLogRetryFirst, kLogRetryMost}, [this] { heard_all_ends(); }),
      questions(inputs, p.executor, options.questions_max),
      lifetime(p.executor),
      life(p.executor) {
    for (const auto& where : options.inputs) {
        inputs.push_back(std::make_unique<Input>(where, p.clock));
        publisher.teach(where, inputs.back()->log_clock());
    }
}

Fold::Impl::~Impl() {
    lifetime.end();
    life.end();
}

// ------------------------------------------------------------------------------------- a life

void Fold::Impl::phase_is(Phase now) {
    if (phase == now) return;
    phase = now;
    state.progressed();
}

void Fold::Impl::heard_all_ends() {
    const bool trusted = trusts_checkpoints();
    if (!trusted) {
        if (const auto cleared = state.clear(); !cleared) {
            opening.ask_again(Need::clear, 0, cleared.error());
            return;
        }
    }
    troubles.worked(Need::clear, 0);
    opening.succeeded();
    log_retry.worked();
    open_all(!trusted);
}

bool Fold::Impl::trusts_checkpoints() const {
    for (InputIndex i = 0; i < inputs.size(); ++i) {
        const auto& input = *inputs[i];
        if (!is_trusted(state.checkpoint(i).value_or(core::Checkpoint{}), input.ends().start,
                        input.ends().end, input.log_clock().now(), options.delete_retention)) {
            return false;
        }
    }
    return true;
}

void Fold::Impl::open_all(bool anew) {
    from_start = anew;
    opened_at = ports.clock.mono();
    ends_asked = opened_at;
    core::log_debug(options.folder, "folding",
                    {{"fold", name}, {"from", anew ? "the log's start" : "checkpoint"}});
    for (InputIndex i = 0; i < inputs.size(); ++i) {
        auto& input = *inputs[i];
        auto from = state.checkpoint(i).value_or(core::Checkpoint{});
        from.next = std::max(from.next, input.ends().start);
        input.begin_at(
            from, std::make_unique<Marker>(input.where(), options.node, publisher, ports.executor));
        open(i);
    }
    phase_is(Phase::restoring);
}

void Fold::Impl::open(InputIndex i) {
    auto& input = *inputs[i];
    input.read_with(ports.log.open_reader(input.where(), input.replayed(), ports.executor,
                                          life.guard([this] { schedule_turn(); })));
    schedule_turn();
}

void Fold::Impl::close() {
    life.renew();
    opening.cancel();
    turn_posted = false;
    marks_asked = false;
    commit_failed = false;
    suspicion_asked = false;
    for (const auto& input : inputs) input->stop_reading();
}

/// What was asked is answered after the user has heard of the restart, so that it finds nothing to
/// decide on what is void.
void Fold::Impl::restart(std::string_view why, core::Duration pause) {
    core::log_warn(options.folder, "folding_anew", {{"fold", name}, {"why", why}});
    close();
    const auto term = lifetime.term();
    phase = Phase::opening;
    state.restarted(why);
    if (term.over()) return;
    state.progressed();
    if (term.over()) return;
    questions.refuse_all({Fault::unavailable, "the fold begins again: " + std::string{why}});
    if (term.over()) return;
    ports.executor.post_after(pause, life.guard([this] { opening.begin(); }));
}

void Fold::Impl::clear_and_restart(std::string_view why) {
    if (const auto cleared = state.clear(); !cleared) {
        troubles.failed(Need::clear, 0, cleared.error());
        return;  // the next turn comes here again
    }
    troubles.forget();
    restart(why, core::Duration::zero());
}

// ------------------------------------------------------------------------------------- a turn

void Fold::Impl::schedule_turn() {
    if (std::exchange(turn_posted, true)) return;
    ports.executor.post(life.guard([this] {
        turn_posted = false;
        turn();
    }));
}

/// Take, replay, commit; whatever follows from it comes after that.
void Fold::Impl::turn() {
    if (phase == Phase::opening) return;
    bool more = commit_failed;  // what was not taken meanwhile
    if (!commit_failed) {
        const auto term = life.term();
        more = take_all();
        if (term.over()) return;
    }
    if (commit()) settle(more);
}

/// In chunks, so that no input keeps the others waiting. True if there is more to take.
bool Fold::Impl::take_all() {
    const auto until = ports.clock.mono() + options.turn_time;
    const auto term = life.term();
    std::vector<std::size_t> budgets(inputs.size(), options.turn_records);
    first_input = (first_input + 1) % inputs.size();
    for (bool more = true; more && ports.clock.mono() <= until;) {
        more = false;
        for (std::size_t n = 0; n < inputs.size(); ++n) {
            const auto i = (first_input + n) % inputs.size();
            more = take(i, budgets[i]) || more;
            if (term.over()) return false;
        }
    }
    for (InputIndex i = 0; i < inputs.size(); ++i) tell(i);
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const auto& input) { return input->has_more(); });
}

/// One chunk; true if this input has more, and budget left.
bool Fold::Impl::take(InputIndex i, std::size_t& budget) {
    auto& input = *inputs[i];
    if (!input.reading() || budget == 0) return false;
    const auto taken =
        input.take(budget, [this, i](const core::RecordView& record) { state.replay(i, record); });
    if (!taken) {
        budget = 0;
        not_read(i, taken.error());
        return false;
    }
    troubles.worked(Need::read, i);
    budget = taken->drained ? 0 : budget - std::min(budget, taken->records);
    return budget > 0;
}

void Fold::Impl::tell(InputIndex i) {
    auto& input = *inputs[i];
    if (!input.moved() && !input.end_is_old_news()) return;
    const bool at_end = input.at_end();
    state.advance(i, input.replayed(),
                  at_end ? std::optional{input.log_clock().now()} : std::nullopt);
    input.told(at_end);
}

void Fold::Impl::not_read(InputIndex i, const Error& why) {
    if (why.fault == Fault::out_of_range) {
        clear_and_restart(why.message);
        return;
    }
    troubles.failed(Need::read, i, why);
    if (why.retryable()) return;  // `ready` comes, or the next second
    // This reader is useless; perhaps another one is not.
    inputs[i]->stop_reading();
    ports.executor.post_after(log_retry.pause(), life.guard([this, i] { open(i); }));
}

bool Fold::Impl::commit() {
    if (state.dirty()) {
        const auto committed = state.commit();
        if (!committed) {
            not_committed(committed.error());
            return false;
        }
        state_retry.worked();
    }
    troubles.worked(Need::commit, 0);
    commit_failed = false;
    return true;
}

void Fold::Impl::not_committed(const Error& why) {
    if (!commit_failed) {
        core::log_warn(
            options.folder, "fold_not_committed",
            {{"fold", name}, {"fault", core::to_string(why.fault)}, {"why", why.message}});
    }
    if (why.fault == Fault::corrupt) {
        clear_and_restart(why.message);
        if (phase == Phase::opening) return;
    } else {
        troubles.failed(Need::commit, 0, why);
    }
    if (has_gone_back()) {
        restart(why.message, state_retry.pause());
        return;
    }
    commit_failed = true;
    ports.executor.post_after(state_retry.pause(), life.guard([this] { schedule_turn(); }));
}

/// The state has dropped what it had gathered: a read failed under it.
bool Fold::Impl::has_gone_back() const {
    if (state.dropped_batch()) return true;
    for (InputIndex i = 0; i < inputs.size(); ++i) {
        const auto kept = state.checkpoint(i);
        if (kept && kept->next < inputs[i]->replayed()) return true;
    }
    return false;
}

/// After the commit: the user's effects first, then who waited for the fold.
void Fold::Impl::settle(bool more) {
    const auto term = life.term();
    for (const auto& input : inputs) input->commit();
    state.committed();
    for (InputIndex i = 0; i < inputs.size() && !term.over(); ++i) {
        inputs[i]->waiters().passed(inputs[i]->committed());
        if (!term.over()) inputs[i]->marker().passed(inputs[i]->committed());
    }
    if (term.over()) return;
    see_whether_caught_up();
    if (term.over()) return;
    if (more || state.dirty()) schedule_turn();
}

/// Every reader says that nothing more is there; marks prove it.
void Fold::Impl::see_whether_caught_up() {
    if (phase != Phase::restoring || marks_asked) return;
    const bool drained = std::all_of(inputs.begin(), inputs.end(),
                                     [](const auto& input) { return input->drained(); });
    if (!drained) return;
    // Tombstones may have gone while it read: what it has is no better than an old checkpoint.
    const auto took = ports.clock.mono() - opened_at;
    if (from_start && took > options.delete_retention / 2) {
        clear_and_restart("the restore took longer than tombstones are kept");
        return;
    }
    const bool first_marks_do =
        took < kAnswerTimeout && std::all_of(inputs.begin(), inputs.end(), [](const auto& input) {
            return input->passed_first_mark();
        });
    if (first_marks_do) {
        caught_up();
        return;
    }
    marks_asked = true;
    questions.ask_marks(all(), [this](const core::Result<void>& marked) {
        marks_asked = false;
        if (marked) {
            caught_up();
        } else {
            troubles.failed(Need::mark, 0, marked.error());  // the next second tries again
        }
    });
}

void Fold::Impl::caught_up() {
    troubles.worked(Need::mark, 0);
    suspect = false;
    const auto took = ports.clock.mono() - opened_at;
    core::log_line(took < kWorthALine ? core::LogLevel::debug : core::LogLevel::info,
                   options.folder, "caught_up",
                   {{"fold", name},
                    {"from", from_start ? "the log's start" : "checkpoint"},
                    {"seconds", std::chrono::duration<double>(took).count()}});
    const auto term = lifetime.term();
    phase_is(Phase::following);
    if (!term.over()) state.caught_up();
}

// ------------------------------------------------------------------------------------- questions

std::vector<InputIndex> Fold::Impl::all() const {
    std::vector<InputIndex> out(inputs.size());
    for (InputIndex i = 0; i < out.size(); ++i) out[i] = i;
    return out;
}

void Fold::Impl::confirm(const std::vector<InputIndex>& of, Answer answer) {
    if (phase == Phase::following) return questions.confirm(of, std::move(answer));
    questions.refuse({Fault::unavailable, "the fold has not caught up yet"}, answer);
}

void Fold::Impl::when_folded(InputIndex i, core::Offset offset, Answer answer) {
    if (phase != Phase::opening) return questions.when_folded(i, offset, std::move(answer));
    questions.refuse({Fault::unavailable, "the fold is not open"}, answer);
}

// --------------------------------------------------------------------------------- each second

void Fold::Impl::tick() {
    notice_standstill();
    last_tick = ports.clock.mono();
    ports.executor.post_after(kTick, lifetime.guard([this] { tick(); }));
    if (phase != Phase::opening) {
        look_at_ends();
        ask_for_reports();
        schedule_turn();
    }
    if (phase == Phase::following) {
        std::vector<log::GroupOffset> offsets;
        for (const auto& input : inputs) offsets.push_back({input->where(), input->committed()});
        reports.look(offsets);
    }
    if (troubles.look()) state.progressed();
}

void Fold::Impl::notice_standstill() {
    if (ports.clock.mono() - last_tick > kTick + options.standstill) suspect = true;
    if (!suspect || suspicion_asked || phase != Phase::following) return;
    suspicion_asked = true;
    questions.ask_marks(all(), [this](const core::Result<void>& marked) {
        suspicion_asked = false;
        if (marked) suspect = false;
    });
}

void Fold::Impl::look_at_ends() {
    const auto now = ports.clock.mono();
    if (now - ends_asked < kEndsEvery) return;
    ends_asked = now;
    for (InputIndex i = 0; i < inputs.size(); ++i) look_at_end(i);
}

void Fold::Impl::look_at_end(InputIndex i) {
    core::ask_while(
        life,
        [&](core::Executor& executor, auto callback) {
            ports.log.ends(inputs[i]->where(), executor, std::move(callback));
        },
        [this, i](const core::Result<log::Ends>& ends) {
            if (!ends) {
                troubles.failed(Need::ends, i, ends.error());
                ends_asked = {};  // again in a second
                return;
            }
            troubles.worked(Need::ends, i);
            inputs[i]->heard_ends(*ends);
        });
}

/// A clock that nothing of our own has taught for a while would not notice a small step.
void Fold::Impl::ask_for_reports() {
    for (const auto& input : inputs) {
        if (input->wants_report() && input->marker().unanswered() == 0) {
            input->marker().ask([](const auto&) {});
        }
    }
}

// -------------------------------------------------------------------------------- what users call

Fold::Fold(Options options, Ports ports, State& state)
    : impl_(std::make_unique<Impl>(std::move(options), ports, state)) {}

Fold::~Fold() = default;

void Fold::start() {
    impl_->last_tick = impl_->ports.clock.mono();
    impl_->opening.begin();
    impl_->tick();
}

void Fold::confirm(Answer answer) { impl_->confirm(impl_->all(), std::move(answer)); }

void Fold::confirm(InputIndex input, Answer answer) { impl_->confirm({input}, std::move(answer)); }

void Fold::when_folded(InputIndex input, core::Offset offset, Answer answer) {
    impl_->when_folded(input, offset, std::move(answer));
}

void Fold::request_turn() {
    if (impl_->phase != Phase::opening) impl_->schedule_turn();
}

bool Fold::suspect() {
    impl_->notice_standstill();
    return impl_->suspect;
}

Progress Fold::progress() const {
    Progress out{.phase = impl_->phase,
                 .from_start = impl_->phase == Phase::restoring && impl_->from_start,
                 .inputs = {},
                 .stuck = impl_->troubles.stuck()};
    for (const auto& input : impl_->inputs) out.inputs.push_back(input->progress());
    return out;
}

Phase Fold::phase() const { return impl_->phase; }

const std::optional<Stuck>& Fold::stuck() const { return impl_->troubles.stuck(); }

core::Offset Fold::position(InputIndex input) const { return impl_->inputs[input]->replayed(); }

const core::LogClock& Fold::log_clock(InputIndex input) const {
    return impl_->inputs[input]->log_clock();
}

log::Publisher& Fold::publisher() { return impl_->publisher; }

void Fold::report_offsets(bool wanted) { impl_->reports.want(wanted); }

}  // namespace beckon::fold
