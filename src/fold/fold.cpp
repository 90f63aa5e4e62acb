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
#include "fold/barrier_queries.hpp"
#include "fold/input.hpp"
#include "fold/intake.hpp"
#include "fold/offset_reports.hpp"
#include "fold/progress.hpp"
#include "fold/stall_watch.hpp"
#include "fold/trust.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace beckon::fold {

/// A publisher that hands the time of each delivery report to the log clock of its partition: a
/// report bounds the log's time from both sides. One thread, that of the executor; may be destroyed
/// while reports are under way: the callers of publish() still get them.
class LogClockPublisher final : public log::Publisher {
public:
    LogClockPublisher(log::Publisher& inner, core::Executor& executor, const core::Clock& clock)
        : inner_(inner), clock_(clock), lifetime_(executor) {}

    /// `log_clock` outlives this publisher.
    void add_clock(log::TopicPartition where, core::LogClock& log_clock) {
        log_clocks_.insert_or_assign(where, std::ref(log_clock));
    }

    void publish(log::TopicPartition where, core::Record record, log::AppendDone done) override;
    std::size_t unanswered() const override { return inner_.unanswered(); }

private:
    log::Publisher& inner_;
    const core::Clock& clock_;
    std::map<log::TopicPartition, std::reference_wrapper<core::LogClock>> log_clocks_;
    core::Lifetime lifetime_;
};

void LogClockPublisher::publish(log::TopicPartition where, core::Record record,
                                log::AppendDone done) {
    const auto known = log_clocks_.find(where);
    if (known == log_clocks_.end()) {
        inner_.publish(where, std::move(record), std::move(done));
        return;
    }
    inner_.publish(where, std::move(record),
                   [term = lifetime_.term(), &log_clock = known->second.get(), sent = clock_.mono(),
                    done = std::move(done)](const core::Result<log::Appended>& at) {
                       if (at && !term.over()) log_clock.reported(at->time, at->offset, sent);
                       done(at);
                   });
}

/// Proves that a restoring fold has reached the log's end: no reader has a further record, and read
/// barriers prove it.
class CatchUp {
public:
    struct Context {
        BarrierQueries& queries;
        Failures& failures;
        const core::Clock& clock;
        bool barriers = true;  ///< else the ends that the log named are the proof
    };
    /// `name`: of the fold, in log lines. `proven` is called once for each begin(), unless the fold
    /// begins again first.
    CatchUp(Inputs& inputs, std::string_view folder, std::string name,
            core::Duration delete_retention, const Context& context, std::function<void()> proven);

    /// The fold reads from now on: from a checkpoint, or from the log's start.
    void begin(bool from_start);
    bool from_start() const { return from_start_; }
    /// Drops the open query for read barriers.
    void cancel() { asked_ = false; }

    /// Call it after each commit while the fold restores. Error `out_of_range`: the restore took so
    /// long that the log may have dropped tombstones meanwhile; its state is no better than an old
    /// checkpoint.
    core::Result<void> update();

private:
    bool first_barriers_do() const;
    void caught_up();
    core::Duration took() const { return context_.clock.mono() - began_; }

    Inputs& inputs_;
    const std::string_view folder_;
    const std::string name_;
    const core::Duration delete_retention_;
    const Context context_;
    const std::function<void()> proven_;
    bool from_start_ = false;
    core::MonoTime began_{};
    bool asked_ = false;  ///< for read barriers
};

namespace {

/// A fold that took so long to catch up logs it at info; the others only at debug, for there are
/// many.
constexpr core::Duration kWorthALine = std::chrono::seconds{5};

}  // namespace

CatchUp::CatchUp(Inputs& inputs, std::string_view folder, std::string name,
                 core::Duration delete_retention, const Context& context,
                 std::function<void()> proven)
    : inputs_(inputs),
      folder_(folder),
      name_(std::move(name)),
      delete_retention_(delete_retention),
      context_(context),
      proven_(std::move(proven)) {}

void CatchUp::begin(bool from_start) {
    from_start_ = from_start;
    began_ = context_.clock.mono();
    core::log_debug(folder_, "folding",
                    {{"fold", name_}, {"from", from_start ? "the log's start" : "checkpoint"}});
}

core::Result<void> CatchUp::update() {
    const bool drained = std::all_of(inputs_.begin(), inputs_.end(),
                                     [](const auto& input) { return input->drained(); });
    if (asked_ || !drained) return {};
    if (!context_.barriers) {
        const bool at_ends = std::all_of(inputs_.begin(), inputs_.end(),
                                         [](const auto& input) { return input->at_end(); });
        if (at_ends) caught_up();
        return {};
    }
    if (from_start_ && took() > delete_retention_ / 2) {
        return core::fail(
            {core::Fault::out_of_range, "the restore took longer than tombstones are kept"});
    }
    if (first_barriers_do()) {
        caught_up();
        return {};
    }
    asked_ = true;
    context_.queries.ask_barriers(indexes_of(inputs_), [this](const core::Result<void>& confirmed) {
        asked_ = false;
        if (confirmed) return caught_up();
        context_.failures.failed(Need::barrier, 0,
                                 confirmed.error());  // the next second tries again
    });
    return {};
}

/// True if the barriers that were published when this fold began are passed, and it began not long
/// ago.
bool CatchUp::first_barriers_do() const {
    return took() < kAnswerTimeout &&
           std::all_of(inputs_.begin(), inputs_.end(),
                       [](const auto& input) { return input->passed_first_barrier(); });
}

void CatchUp::caught_up() {
    context_.failures.worked(Need::barrier, 0);
    core::log_line(took() < kWorthALine ? core::LogLevel::debug : core::LogLevel::info, folder_,
                   "caught_up",
                   {{"fold", name_},
                    {"from", from_start_ ? "the log's start" : "checkpoint"},
                    {"seconds", std::chrono::duration<double>(took()).count()}});
    proven_();
}

/// Asks for the ends of all inputs now and then while they are read, so that progress knows how
/// much is left, and whether each is still the partition that was read until now.
class EndsWatch {
public:
    static constexpr core::Duration kEvery = std::chrono::seconds{10};

    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
        Failures& failures;
    };
    /// `made_anew` is called once an input is another partition; it may call cancel().
    EndsWatch(Inputs& inputs, const Context& context, std::function<void(InputIndex)> made_anew)
        : inputs_(inputs),
          context_(context),
          made_anew_(std::move(made_anew)),
          lifetime_(context.executor) {}

    /// All inputs have just learned their ends.
    void begin() { asked_ = context_.clock.mono(); }
    /// Answers that are under way are void.
    void cancel() { lifetime_.renew(); }
    /// Call it every second.
    void update();

private:
    void ask(InputIndex input);
    void ask_identity(InputIndex input);
    void confirmed(InputIndex input, const log::ReadUpTo& read);
    void failed(InputIndex input, const core::Error& why);

    Inputs& inputs_;
    const Context context_;
    const std::function<void(InputIndex)> made_anew_;
    core::MonoTime asked_{};
    core::Lifetime lifetime_;
};

void EndsWatch::update() {
    const auto now = context_.clock.mono();
    if (now - asked_ < kEvery) return;
    asked_ = now;
    for (InputIndex i = 0; i < inputs_.size(); ++i) ask(i);
}

void EndsWatch::ask(InputIndex i) {
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.ends(inputs_[i]->where(), executor, std::move(callback));
        },
        [this, i](const core::Result<log::Ends>& ends) {
            if (!ends) return failed(i, ends.error());
            inputs_[i]->received_ends(*ends);
            ask_identity(i);
        });
}

void EndsWatch::ask_identity(InputIndex i) {
    auto& input = *inputs_[i];
    const auto read = input.read_up_to();  // before the answer, which vouches for it
    if (input.confirmed().youngest == core::Timestamp{}) return confirmed(i, read);
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.is_made_anew(input.where(), input.confirmed(), executor,
                                      std::move(callback));
        },
        [this, i, read](const core::Result<bool>& made_anew) {
            if (!made_anew) return failed(i, made_anew.error());
            if (*made_anew) return made_anew_(i);
            confirmed(i, read);
        });
}

void EndsWatch::confirmed(InputIndex i, const log::ReadUpTo& read) {
    context_.failures.worked(Need::ends, i);
    inputs_[i]->confirm(read);
}

void EndsWatch::failed(InputIndex i, const core::Error& why) {
    context_.failures.failed(Need::ends, i, why);
    asked_ = {};  // again in a second
}

/// The queries of a fold before it reads: a first read barrier on every input, then every input's
/// ends, and whether the input is still the partition of which its checkpoint was read. If one
/// fails, that step is repeated after a pause.
class Opening {
public:
    struct Context {
        log::EventLog& log;
        LogClockPublisher& publisher;
        core::Executor& executor;
        Failures& failures;
        std::function<std::optional<core::Checkpoint>(InputIndex)> checkpoint;
        bool barriers = true;  ///< else only the ends are asked for
    };
    /// `retry`: the pauses. `answered` is called once all inputs have their answers.
    Opening(Inputs& inputs, core::NodeId node, Context context, core::Backoff retry,
            std::function<void()> answered);

    void begin();
    /// Asks for the ends once more, since `need` of this input failed after they were known.
    void ask_again(Need need, InputIndex input, const core::Error& why);
    /// The fold reads now: the next pause is a short one again.
    void succeeded() { retry_.worked(); }
    /// Answers that are under way are void.
    void cancel() { lifetime_.renew(); }

private:
    void first_barrier(InputIndex input);
    void ask_ends();
    void ask_ends(InputIndex input);
    void ask_identity(InputIndex input);
    void answered(InputIndex input);
    void try_again(Need need, InputIndex input, const core::Error& why, void (Opening::*step)());

    Inputs& inputs_;
    const core::NodeId node_;
    const Context context_;
    const std::function<void()> answered_;
    core::Backoff retry_;
    std::size_t answers_missing_ = 0;  ///< of the step under way
    core::Lifetime lifetime_;
};

Opening::Opening(Inputs& inputs, core::NodeId node, Context context, core::Backoff retry,
                 std::function<void()> answered)
    : inputs_(inputs),
      node_(std::move(node)),
      context_(context),
      answered_(std::move(answered)),
      retry_(retry),
      lifetime_(context.executor) {}

/// A first read barrier goes to every input before anything else is asked. Its report has the
/// log's time there, by which trust in a checkpoint is judged; and a reader that has passed it has
/// read all records that were there when this fold began.
void Opening::begin() {
    if (!context_.barriers) return ask_ends();
    answers_missing_ = inputs_.size();
    for (InputIndex i = 0; i < inputs_.size(); ++i) first_barrier(i);
}

void Opening::first_barrier(InputIndex i) {
    context_.publisher.publish(inputs_[i]->where(), core::encode(core::BarrierRecord{node_.text}),
                               lifetime_.guard([this, i](const core::Result<log::Appended>& at) {
                                   if (!at) {
                                       try_again(Need::log_time, i, at.error(), &Opening::begin);
                                       return;
                                   }
                                   inputs_[i]->first_barrier(at->offset);
                                   context_.failures.worked(Need::log_time, i);
                                   if (--answers_missing_ == 0) ask_ends();
                               }));
}

void Opening::ask_ends() {
    answers_missing_ = inputs_.size();
    for (InputIndex i = 0; i < inputs_.size(); ++i) ask_ends(i);
}

void Opening::ask_ends(InputIndex i) {
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.ends(inputs_[i]->where(), executor, std::move(callback));
        },
        [this, i](const core::Result<log::Ends>& ends) {
            if (!ends) {
                try_again(Need::ends, i, ends.error(), &Opening::ask_ends);
                return;
            }
            inputs_[i]->received_ends(*ends);
            ask_identity(i);
        });
}

/// The records below the checkpoint may be those of another topic that has the same name.
void Opening::ask_identity(InputIndex i) {
    inputs_[i]->received_identity(false);
    const auto kept = context_.checkpoint(i);
    if (!kept || kept->youngest == core::Timestamp{}) return answered(i);
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.is_made_anew(inputs_[i]->where(), {kept->next, kept->youngest}, executor,
                                      std::move(callback));
        },
        [this, i](const core::Result<bool>& made_anew) {
            if (!made_anew) {
                try_again(Need::ends, i, made_anew.error(), &Opening::ask_ends);
                return;
            }
            inputs_[i]->received_identity(*made_anew);
            answered(i);
        });
}

void Opening::answered(InputIndex i) {
    context_.failures.worked(Need::ends, i);
    if (--answers_missing_ == 0) answered_();
}

void Opening::ask_again(Need need, InputIndex input, const core::Error& why) {
    try_again(need, input, why, &Opening::ask_ends);
}

/// Every answer that is still under way is void: `step` asks all of it again.
void Opening::try_again(Need need, InputIndex input, const core::Error& why,
                        void (Opening::*step)()) {
    context_.failures.failed(need, input, why);
    lifetime_.renew();
    context_.executor.post_after(retry_.pause(),
                                 lifetime_.guard([this, step] { (this->*step)(); }));
}

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

/// "subscriptions/3", or "notifications/3+1" for a fold of two inputs.
std::string name_of(const std::vector<log::TopicPartition>& inputs) {
    const auto& first = inputs.front();
    auto name = first.topic.name() + "/" + std::to_string(first.partition);
    if (inputs.size() > 1) name += "+" + std::to_string(inputs.size() - 1);
    return name;
}

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
    CatchUp catch_up;
    EndsWatch ends_watch;
    StallWatch stall_watch;

    Phase phase = Phase::opening;
    bool turn_posted = false;
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
               .failures = failures,
               .checkpoint = [this](InputIndex i) { return state.checkpoint(i); },
               .barriers = barriers()},
              core::Backoff{kLogRetryFirst, kLogRetryMost}, [this] { received_all_ends(); }),
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
      catch_up(inputs, options.folder, name, options.delete_retention,
               {.queries = queries, .failures = failures, .clock = p.clock, .barriers = barriers()},
               [this] { caught_up(); }),
      ends_watch(inputs,
                 {.log = p.log, .executor = p.executor, .clock = p.clock, .failures = failures},
                 [this](InputIndex i) { made_anew(i); }),
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
    ends_watch.begin();
    catch_up.begin(anew);
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
    ends_watch.cancel();
    catch_up.cancel();
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
    const bool drained = std::all_of(inputs.begin(), inputs.end(),
                                     [](const auto& input) { return input->drained(); });
    return phase == Phase::restoring && !drained && !state.commit_due() &&
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
        if (const auto in_time = catch_up.update(); !in_time) {
            return clear_and_restart(in_time.error().message);
        }
        if (term.over()) return;
    }
    if (more || state.dirty()) schedule_turn();
}

void Fold::Impl::caught_up() {
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
        ends_watch.update();
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

bool Fold::suspect() {
    impl_->stall_watch.update(impl_->phase == Phase::following);
    return impl_->stall_watch.suspect();
}

Progress Fold::progress() const {
    Progress out{.phase = impl_->phase,
                 .from_start = impl_->phase == Phase::restoring && impl_->catch_up.from_start(),
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
