#include "fold/fold.hpp"

#include "core/backoff.hpp"
#include "core/checkpoint.hpp"
#include "core/clock.hpp"
#include "core/contain.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/log_clock.hpp"
#include "core/logger.hpp"
#include "core/result.hpp"
#include "fold/input.hpp"
#include "fold/intake.hpp"
#include "fold/log_clock_publisher.hpp"
#include "fold/offset_reports.hpp"
#include "fold/opening.hpp"
#include "fold/progress.hpp"
#include "fold/stall_watch.hpp"
#include "log/event_log.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::fold {

using core::Error;
using core::Fault;

namespace {

constexpr core::Duration kTick = std::chrono::seconds{1};
/// After the log did not answer.
constexpr core::Duration kLogRetryFirst = std::chrono::milliseconds{250};
constexpr core::Duration kLogRetryMost = std::chrono::seconds{4};
/// After a commit that failed: mostly the disk is behind for a moment.
constexpr core::Duration kCommitRetryFirst = std::chrono::milliseconds{10};
constexpr core::Duration kCommitRetryMost = std::chrono::milliseconds{640};
/// A fold that restores commits when its state has collected enough, when it has nothing more to
/// take, and after this time at the latest, so that its position is known and a crash costs little.
/// Messages that come and go within a batch, as most do, never reach the store.
constexpr core::Duration kBatchFor = std::chrono::milliseconds{250};
/// A fold that took so long to catch up logs it at info; the others only at debug, for there are
/// many.
constexpr core::Duration kWorthALine = std::chrono::seconds{5};

/// "subscriptions/3", or "notifications/3+1" for a fold of two inputs.
std::string name_of(const std::vector<log::TopicPartition>& inputs) {
    const auto& first = inputs.front();
    auto name = first.topic.name() + "/" + std::to_string(first.partition);
    if (inputs.size() > 1) name += "+" + std::to_string(inputs.size() - 1);
    return name;
}

/// The queries to a fold: whether read barriers have passed, and when an offset is folded. Every
/// query is answered once, unless the fold ends; none before the call that asked has returned.
class BarrierQueries {
public:
    /// More than `most` queries without an answer are refused as `full`.
    BarrierQueries(Inputs& inputs, core::Executor& executor, std::size_t most)
        : inputs_(inputs), executor_(executor), most_(most), lifetime_(executor) {}

    /// Answered once a read barrier of ours has passed on each of `of`.
    void confirm(const std::vector<InputIndex>& of, Answer answer) {
        if (auto admitted = admit(std::move(answer))) ask_barriers(of, std::move(admitted));
    }
    /// Answered once the turn of the record at `offset` has ended, or after kAnswerTimeout.
    void when_folded(InputIndex i, core::Offset offset, Answer answer) {
        auto admitted = admit(std::move(answer));
        if (!admitted) return;
        if (inputs_[i]->position() > offset) {
            executor_.post(lifetime_.guard([admitted] { admitted({}); }));
            return;
        }
        const auto id = inputs_[i]->waiters().add(offset, std::move(admitted));
        executor_.post_after(kAnswerTimeout, lifetime_.guard([this, i, id] {
            inputs_[i]->waiters().cut_off(
                id, {Fault::timed_out, "the fold did not come so far within 2 s"});
        }));
    }
    void refuse(Error why, const Answer& answer) {
        executor_.post(
            lifetime_.guard([why = std::move(why), answer] { answer(core::fail(why)); }));
    }
    /// Answers all that wait; any answer may destroy this.
    void refuse_all(const Error& why) {
        const auto term = lifetime_.term();
        for (InputIndex i = 0; !term.over() && i < inputs_.size(); ++i) {
            inputs_[i]->waiters().refuse_all(why);
            if (!term.over() && inputs_[i]->has_barrier()) inputs_[i]->barrier().refuse_all(why);
        }
    }

    /// A query of the fold itself, which is not counted. The first failure is the answer.
    void ask_barriers(const std::vector<InputIndex>& of, Answer answer) {
        struct Asked {
            std::size_t missing;
            Answer answer;
        };
        const auto asked = std::make_shared<Asked>(Asked{of.size(), std::move(answer)});
        for (const auto i : of) {
            inputs_[i]->barrier().ask(lifetime_.guard([asked](const core::Result<void>& confirmed) {
                if (!asked->answer) return;  // it has its answer
                if (confirmed && --asked->missing > 0) return;
                std::exchange(asked->answer, {})(confirmed);
            }));
        }
    }

private:
    /// Counts a query, and its outcome once it is answered. Empty: it was refused.
    Answer admit(Answer answer) {
        if (waiting_ >= most_) {
            refuse({Fault::full, "too many queries wait for the fold"}, answer);
            return {};
        }
        ++waiting_;
        return lifetime_.guard(
            [this, answer = std::move(answer)](const core::Result<void>& result) {
                --waiting_;
                answer(result);
            });
    }

    Inputs& inputs_;
    core::Executor& executor_;
    const std::size_t most_;
    std::size_t waiting_ = 0;
    core::Lifetime lifetime_;
};

}  // namespace

struct Fold::Impl {
    Impl(Options o, Context p, State& s);
    ~Impl();

    // --- a life: from opening to a restart
    void received_all_ends();
    bool trusts_checkpoints() const;
    void report_made_anew(InputIndex input, core::Offset position) const;
    void made_anew(InputIndex input);
    void open_all(bool anew);
    void restart(std::string_view why, core::Duration pause);
    void clear_and_restart(std::string_view why);
    void close();

    // --- a turn
    void schedule_turn();
    void turn();
    bool batches() const;
    core::Result<void> commit();
    void not_committed(const Error& why);
    bool has_gone_back() const;
    void end_turn(bool more);

    // --- the end of a restore
    bool all_of(bool (Input::*is)() const) const {
        return std::all_of(inputs.begin(), inputs.end(),
                           [is](const auto& input) { return (*input.*is)(); });
    }
    core::Duration restoring_for() const { return context.clock.mono() - began; }
    core::Result<void> prove_end();
    void caught_up();

    // --- queries
    void confirm(const std::vector<InputIndex>& of, Answer answer);
    void when_folded(InputIndex input, core::Offset offset, Answer answer);

    // --- every second
    void tick();
    void ask_for_reports();
    void report_failures();
    void phase_is(Phase now);
    bool barriers() const { return options.proof == Proof::barrier; }

    const Options options;
    const Context context;
    State& state;
    const std::string name;

    Inputs inputs;
    LogClockPublisher publisher;
    Failures failures;
    OffsetReports reports;
    Opening opening;
    BarrierQueries queries;
    Intake intake;
    StallWatch stall_watch;

    Phase phase = Phase::opening;
    bool turn_posted = false;
    bool from_start = false;          ///< it restores from the log's start, not from a checkpoint
    core::MonoTime began{};           ///< to restore
    bool barriers_asked = false;      ///< to prove the end
    core::MonoTime batching_since{};  ///< the last commit
    core::Backoff commit_retry{kCommitRetryFirst, kCommitRetryMost};
    bool uncommitted =
        false;             ///< the last commit failed: no records are taken before it is repeated
    bool pausing = false;  ///< after a commit that failed; a turn could only try it again

    core::Lifetime lifetime;  ///< of the fold
    core::Lifetime life;      ///< of one life of it: renewed by each restart
};

Fold::Impl::Impl(Options o, Context p, State& s)
    : options(std::move(o)),
      context(p),
      state(s),
      name(name_of(options.inputs)),
      publisher(p.publisher, p.executor, p.clock),
      failures(options.folder, name, p.clock),
      reports(options.group, p.log, p.executor, p.clock),
      opening(inputs, options.node,
              {.log = p.log,
               .publisher = publisher,
               .executor = p.executor,
               .clock = p.clock,
               .failures = failures,
               .checkpoint = [this](InputIndex i) { return state.checkpoint(i); },
               .barriers = barriers(),
               .answered = [this] { received_all_ends(); },
               .made_anew = [this](InputIndex i) { made_anew(i); }},
              core::Backoff{kLogRetryFirst, kLogRetryMost}),
      queries(inputs, p.executor, options.queries_max),
      intake(inputs,
             {.records = options.turn_records,
              .time = options.turn_time,
              .bytes = options.turn_bytes,
              .applies_backpressure = options.applies_backpressure},
             {.state = s,
              .log = p.log,
              .executor = p.executor,
              .clock = p.clock,
              .failures = failures},
             core::Backoff{kLogRetryFirst, options.replace_most}, [this] { schedule_turn(); }),
      stall_watch(kTick + options.stall_after, p.clock,
                  [this](Answer answer) {
                      if (!barriers()) return answer({});
                      queries.ask_barriers(indexes_of(inputs), std::move(answer));
                  }),
      lifetime(p.executor),
      life(p.executor) {
    for (const auto& where : options.inputs) {
        inputs.push_back(std::make_unique<Input>(where, p.clock));
        publisher.add_clock(where, inputs.back()->log_clock());
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

void Fold::Impl::received_all_ends() {
    const bool trusted = trusts_checkpoints();
    if (!trusted) {
        if (const auto cleared = state.clear(); !cleared) {
            opening.ask_again(Need::clear, 0, cleared.error());
            return;
        }
    }
    failures.worked(Need::clear, 0);
    opening.succeeded();
    open_all(!trusted);
}

bool Fold::Impl::trusts_checkpoints() const {
    if (!barriers()) return false;
    for (InputIndex i = 0; i < inputs.size(); ++i) {
        const auto& input = *inputs[i];
        const auto checkpoint = state.checkpoint(i).value_or(core::Checkpoint{});
        if (input.made_anew() || checkpoint.next > input.ends().end) {
            report_made_anew(i, checkpoint.next);
            return false;
        }
        if (!is_trusted(checkpoint, input.ends().start, input.ends().end, input.log_clock().now(),
                        options.delete_retention)) {
            return false;
        }
    }
    return true;
}

void Fold::Impl::report_made_anew(InputIndex i, core::Offset position) const {
    core::log_error(options.folder, "topic_made_anew",
                    {{"topic", inputs[i]->where().topic.name()},
                     {"partition", inputs[i]->where().partition},
                     {"position", position},
                     {"log_end", inputs[i]->ends().end}});
}

/// While it was read.
void Fold::Impl::made_anew(InputIndex i) {
    report_made_anew(i, inputs[i]->replayed());
    clear_and_restart("a topic was deleted and made anew");
}

void Fold::Impl::open_all(bool anew) {
    from_start = anew;
    began = context.clock.mono();
    core::log_debug(options.folder, "folding",
                    {{"fold", name}, {"from", anew ? "the log's start" : "checkpoint"}});
    for (InputIndex i = 0; i < inputs.size(); ++i) {
        auto& input = *inputs[i];
        auto from = state.checkpoint(i).value_or(core::Checkpoint{});
        from.next = std::max(from.next, input.ends().start);
        input.begin_at(from, std::make_unique<ReadBarrier>(input.where(), options.node, publisher,
                                                           context.executor));
    }
    intake.open_all();
    batching_since = context.clock.mono();
    phase_is(Phase::restoring);
}

void Fold::Impl::close() {
    life.renew();
    opening.cancel();
    barriers_asked = false;
    stall_watch.forget_query();
    intake.close();
    turn_posted = false;
    pausing = false;
    uncommitted = false;
}

/// Queries are answered only after the state was notified of the restart: their answers must not
/// be decided on a state that is void.
void Fold::Impl::restart(std::string_view why, core::Duration pause) {
    core::log_warn(options.folder, "folding_anew", {{"fold", name}, {"why", why}});
    close();
    const auto term = lifetime.term();
    phase = Phase::opening;
    state.restarted(why);
    if (term.over()) return;
    state.progressed();
    if (term.over()) return;
    queries.refuse_all({Fault::unavailable, "the fold begins again: " + std::string{why}});
    if (term.over()) return;
    context.executor.post_after(pause, life.guard([this] { opening.begin(); }));
}

void Fold::Impl::clear_and_restart(std::string_view why) {
    if (const auto cleared = state.clear(); !cleared) {
        failures.failed(Need::clear, 0, cleared.error());
        return;  // the next turn comes here again
    }
    failures.forget();
    restart(why, core::Duration::zero());
}

// ------------------------------------------------------------------------------------- a turn

void Fold::Impl::schedule_turn() {
    if (pausing || std::exchange(turn_posted, true)) return;
    context.executor.post(life.guard([this] {
        turn_posted = false;
        core::fold_step([this] { return options.folder; }, [this] { turn(); });
    }));
}

/// Take, replay, commit if the state asks for it; all effects come last.
void Fold::Impl::turn() {
    if (phase == Phase::opening) return;
    bool more = uncommitted;  // records that were not taken meanwhile
    if (!uncommitted) {
        const auto taken = intake.turn();
        if (!taken) return clear_and_restart(taken.error().message);
        more = *taken;
        const auto term = life.term();
        report_failures();
        if (term.over()) return;
        if (batches()) {
            if (more) schedule_turn();
            return;  // without more: until the reader is ready
        }
    }
    if (const auto committed = commit(); !committed) return not_committed(committed.error());
    end_turn(more);
}

/// Logs one line for each series of failures.
core::Result<void> Fold::Impl::commit() {
    if (state.dirty()) {
        if (auto committed = state.commit(); !committed) {
            if (std::exchange(uncommitted, true)) return committed;
            core::log_warn(options.folder, "fold_not_committed",
                           {{"fold", name},
                            {"fault", core::to_string(committed.error().fault)},
                            {"why", committed.error().message}});
            return committed;
        }
        commit_retry.worked();
    }
    failures.worked(Need::commit, 0);
    uncommitted = false;
    return {};
}

bool Fold::Impl::batches() const {
    return phase == Phase::restoring && !all_of(&Input::drained) && !state.commit_due() &&
           context.clock.mono() - batching_since < kBatchFor;
}

void Fold::Impl::not_committed(const Error& why) {
    if (why.fault == Fault::corrupt) {
        clear_and_restart(why.message);
        if (phase == Phase::opening) return;
    } else {
        failures.failed(Need::commit, 0, why);
    }
    if (has_gone_back()) return restart(why.message, commit_retry.pause());
    context.executor.post_after(commit_retry.pause(), life.guard([this] {
        pausing = false;
        schedule_turn();
    }));
    pausing = true;
}

/// The state has dropped its uncommitted changes, since one of its reads failed.
bool Fold::Impl::has_gone_back() const {
    if (state.dropped_batch()) return true;
    for (InputIndex i = 0; i < inputs.size(); ++i) {
        const auto kept = state.checkpoint(i);
        if (kept && kept->next < inputs[i]->replayed()) return true;
    }
    return false;
}

/// The user's effects first, then the waiters.
void Fold::Impl::end_turn(bool more) {
    const auto term = life.term();
    batching_since = context.clock.mono();
    for (const auto& input : inputs) input->turn_ended();
    state.turn_ended();
    for (InputIndex i = 0; !term.over() && i < inputs.size(); ++i) {
        inputs[i]->waiters().passed(inputs[i]->position());
        if (!term.over()) inputs[i]->barrier().passed(inputs[i]->position());
    }
    if (term.over()) return;
    if (phase == Phase::restoring) {
        if (const auto in_time = prove_end(); !in_time) {
            return clear_and_restart(in_time.error().message);
        }
        if (term.over()) return;
    }
    if (more || state.dirty()) schedule_turn();
}

/// Proves that a restoring fold has reached the log's end: no reader has a further record, and read
/// barriers prove it, or the ends that the log named. Error `out_of_range`: the restore took so
/// long that the log may have dropped tombstones meanwhile; its state is no better than an old
/// checkpoint.
core::Result<void> Fold::Impl::prove_end() {
    if (barriers_asked || !all_of(&Input::drained)) return {};
    if (!barriers()) {
        if (all_of(&Input::at_end)) caught_up();
        return {};
    }
    if (from_start && restoring_for() > options.delete_retention / 2) {
        return core::fail(
            {Fault::out_of_range, "the restore took longer than tombstones are kept"});
    }
    // Barriers that were published when this fold began do, if that is not long ago.
    if (restoring_for() < kAnswerTimeout && all_of(&Input::passed_first_barrier)) {
        caught_up();
        return {};
    }
    barriers_asked = true;
    queries.ask_barriers(indexes_of(inputs), [this](const core::Result<void>& confirmed) {
        barriers_asked = false;
        if (confirmed) return caught_up();
        failures.failed(Need::barrier, 0, confirmed.error());  // the next second tries again
    });
    return {};
}

void Fold::Impl::caught_up() {
    failures.worked(Need::barrier, 0);
    const auto took = restoring_for();
    core::log_line(took < kWorthALine ? core::LogLevel::debug : core::LogLevel::info,
                   options.folder, "caught_up",
                   {{"fold", name},
                    {"from", from_start ? "the log's start" : "checkpoint"},
                    {"seconds", std::chrono::duration<double>(took).count()}});
    stall_watch.proven();
    const auto term = lifetime.term();
    phase_is(Phase::following);
    if (!term.over()) state.caught_up();
}

// ------------------------------------------------------------------------------------- queries

void Fold::Impl::confirm(const std::vector<InputIndex>& of, Answer answer) {
    if (phase == Phase::following && barriers()) return queries.confirm(of, std::move(answer));
    queries.refuse({Fault::unavailable, "the fold has not caught up yet"}, answer);
}

void Fold::Impl::when_folded(InputIndex i, core::Offset offset, Answer answer) {
    if (phase != Phase::opening) return queries.when_folded(i, offset, std::move(answer));
    queries.refuse({Fault::unavailable, "the fold is not open"}, answer);
}

// --------------------------------------------------------------------------------- each second

void Fold::Impl::tick() {
    stall_watch.update(phase == Phase::following);
    stall_watch.turned();
    context.executor.post_after(kTick, lifetime.guard([this] { tick(); }));
    if (phase != Phase::opening) {
        opening.watch();
        if (barriers()) ask_for_reports();
        schedule_turn();
    }
    if (phase == Phase::following) {
        std::vector<log::GroupOffset> offsets;
        for (const auto& input : inputs) offsets.push_back({input->where(), input->position()});
        reports.update(offsets);
    }
    report_failures();
}

void Fold::Impl::report_failures() {
    if (failures.update()) state.progressed();
}

/// A clock that nothing of our own has taught for a while would not notice a small step.
void Fold::Impl::ask_for_reports() {
    for (const auto& input : inputs) {
        if (input->wants_report() && input->barrier().unanswered() == 0) {
            input->barrier().ask([](const auto&) {});
        }
    }
}

// -------------------------------------------------------------------------------- calls of users

Fold::Fold(Options options, Context context, State& state)
    : impl_(std::make_unique<Impl>(std::move(options), context, state)) {}

Fold::~Fold() = default;

void Fold::start() {
    impl_->stall_watch.turned();
    impl_->opening.begin();
    impl_->tick();
}

void Fold::confirm(Answer answer) { impl_->confirm(indexes_of(impl_->inputs), std::move(answer)); }

void Fold::confirm(InputIndex input, Answer answer) { impl_->confirm({input}, std::move(answer)); }

void Fold::when_folded(InputIndex input, core::Offset offset, Answer answer) {
    impl_->when_folded(input, offset, std::move(answer));
}

void Fold::request_turn() {
    if (impl_->phase != Phase::opening) impl_->schedule_turn();
}

bool Fold::stalled() {
    impl_->stall_watch.update(impl_->phase == Phase::following);
    return impl_->stall_watch.stalled();
}

Progress Fold::progress() const {
    Progress out{.phase = impl_->phase,
                 .from_start = impl_->phase == Phase::restoring && impl_->from_start,
                 .inputs = {},
                 .stuck = impl_->failures.stuck()};
    for (const auto& input : impl_->inputs) out.inputs.push_back(input->progress());
    return out;
}

Phase Fold::phase() const { return impl_->phase; }

const std::optional<Stuck>& Fold::stuck() const { return impl_->failures.stuck(); }

core::Offset Fold::position(InputIndex input) const { return impl_->inputs[input]->replayed(); }

const core::LogClock& Fold::log_clock(InputIndex input) const {
    return impl_->inputs[input]->log_clock();
}

log::Publisher& Fold::publisher() { return impl_->publisher; }

void Fold::report_offsets(bool wanted) { impl_->reports.want(wanted); }

}  // namespace beckon::fold
