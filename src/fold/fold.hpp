#pragma once

#include "core/checkpoint.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/log_clock.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The one runtime that turns partitions of the log into state. Its users (the edge's home, the
/// endpoint's view, the cluster) know events; it knows everything else about folding: when a
/// checkpoint is trusted, how much a turn may take, what happens when the log or the store fails,
/// when "nothing more is there" is proven, and how far it has come.
namespace beckon::fold {

/// Which of Options::inputs.
using InputIndex = std::size_t;

/// Empty result: what was asked is so. Always called later, on the executor's thread, and exactly
/// once unless the Fold is destroyed first.
using Answer = std::function<void(const core::Result<void>&)>;

/// What is folded: the state, and the rules by which records change it. All calls come on the
/// executor's thread, none from within a call of the user to the Fold, but answers and callbacks
/// may call the Fold or destroy it, except where a call says otherwise.
class State {
public:
    virtual ~State() = default;

    /// How far the state has come, uncommitted advances included. nullopt: nothing was ever folded,
    /// or nothing of it is kept (a fold in memory always answers so).
    virtual std::optional<core::Checkpoint> checkpoint(InputIndex input) const = 0;

    /// The next record, control records included; live and at load alike. Once each, in the order
    /// of the offsets, from the checkpoint on. Must not destroy the Fold.
    virtual void replay(InputIndex input, const core::RecordView& record) = 0;

    /// Everything below `next` is replayed. `caught_up` (log time) where that was the log's end.
    virtual void advance(InputIndex input, core::Offset next,
                         std::optional<core::Timestamp> caught_up) = 0;

    /// Whether commit() has something to write.
    virtual bool dirty() const = 0;

    /// Writes state and positions in one batch. Errors: `corrupt`: the state cannot be read back,
    /// so it is cleared and folded again from the log's start. Any other: nothing counts as
    /// written, and it is called again after a pause; see dropped_batch().
    virtual core::Result<void> commit() = 0;

    /// After a commit() that failed: true if the state had to drop what it had gathered, because a
    /// read failed under it. It is folded again from checkpoint(), and restarted() says that what
    /// was decided is void. A checkpoint() that has gone back says the same.
    virtual bool dropped_batch() const { return false; }

    /// Drops everything, also what was not committed, so that it can be folded from the log's
    /// start. Tried again after a pause if it fails.
    virtual core::Result<void> clear() = 0;

    /// The end of a turn: all that was replayed and decided is committed. Frames, records and
    /// answers that follow from it leave now, and only now. What is decided in this call itself
    /// waits for the next turn, which follows if it made the state dirty.
    virtual void committed() = 0;

    /// Marks have passed on every input, and all below them is committed: after the start, and
    /// again after each restart.
    virtual void caught_up() = 0;

    /// The fold begins again: from the checkpoint, or from the log's start with a cleared state.
    /// What was decided and not committed is void. Open questions are answered `unavailable` after
    /// this call.
    virtual void restarted(std::string_view why) = 0;

    /// Fold::progress() has changed in its phase, or in being stuck.
    virtual void progressed() {}
};

struct Options {
    /// The folder that log lines name, e.g. "edge".
    std::string_view folder = "fold";
    std::vector<log::TopicPartition> inputs;
    core::NodeId node;
    /// Under which committed positions are reported to the log, for lag tools; without prefix.
    /// Empty: not at all.
    std::string group;
    core::Duration delete_retention = std::chrono::hours{24 * 7};
    /// One turn takes no more than this from one input, and starts no new chunk after `turn_time`.
    std::size_t turn_records = 256;
    core::Duration turn_time = std::chrono::milliseconds{10};
    /// A loop that stood still for so long trusts nothing before a new mark.
    core::Duration standstill = std::chrono::seconds{3};
    /// Questions without an answer; more are answered `full`.
    std::size_t questions_max = 10'000;
};

enum class Phase : std::uint8_t {
    opening,    ///< asks the log for its time and its ends, decides on the checkpoint
    restoring,  ///< folds; that it has reached the end is not proven yet
    following,  ///< marks have passed since the (re)start
};
std::string_view to_string(Phase phase);

struct InputProgress {
    log::TopicPartition where;
    core::Offset position = 0;  ///< everything below is committed
    core::Offset end = 0;       ///< of the log, as last heard
    core::Duration lag{};       ///< the age of the oldest record not committed; 0 at the end

    core::Offset lag_records() const { return end > position ? end - position : 0; }
};

/// Something that the fold needs has failed for kStuckAfter, or failed for good.
struct Stuck {
    core::Timestamp since{};  ///< host time
    std::string why;
};

struct Progress {
    Phase phase = Phase::opening;
    /// In `restoring`: from the log's start, not from a checkpoint.
    bool from_start = false;
    std::vector<InputProgress> inputs;
    std::optional<Stuck> stuck;
};

/// Folds some partitions into one state. Everything of one Fold happens on one thread, that of the
/// executor, where it is also made and destroyed; no callback comes after that.
class Fold {
public:
    /// What a fold borrows; all of it outlives the fold.
    struct Ports {
        log::EventLog& log;
        log::Publisher& publisher;
        core::Executor& executor;
        const core::Clock& clock;
    };

    static constexpr core::Duration kAnswerTimeout = std::chrono::seconds{2};
    static constexpr core::Duration kStuckAfter = std::chrono::seconds{5};

    /// `state` outlives the fold.
    Fold(Options options, Ports ports, State& state);
    ~Fold();
    Fold(const Fold&) = delete;
    Fold& operator=(const Fold&) = delete;

    void start();

    /// Answers once everything that stood in all inputs when this was called is committed (a mark
    /// on each). Errors: unavailable (not following yet, restarted meanwhile, or the log is away),
    /// timed_out, full; then never the negative answer.
    void confirm(Answer answer);
    /// The same for one input.
    void confirm(InputIndex input, Answer answer);

    /// Answers once `offset` of an input is committed. Errors: as confirm().
    void when_folded(InputIndex input, core::Offset offset, Answer answer);

    /// The state changed for another reason than a record (a decision): commit it soon, and call
    /// committed().
    void request_turn();

    /// True after the loop stood still, until a mark that was set since has passed: another node
    /// may have taken over meanwhile.
    bool suspect();

    Progress progress() const;
    Phase phase() const;
    /// As in progress().
    const std::optional<Stuck>& stuck() const;
    /// Everything of the input below this is replayed (and committed, when committed() is called).
    core::Offset position(InputIndex input) const;

    /// The log's time in an input's partition.
    const core::LogClock& log_clock(InputIndex input) const;

    /// Publishes as the given publisher does, and each report for an input teaches its clock: use
    /// it for everything that is published to the inputs.
    log::Publisher& publisher();

    /// Whether committed positions are reported under Options::group (from the start: yes). Of
    /// several folds of a partition only the one that serves should.
    void report_offsets(bool wanted);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::fold
