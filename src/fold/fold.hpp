#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/log_clock.hpp"
#include "fold/progress.hpp"
#include "fold/state.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The one runtime that turns partitions of the log into state. Its users (the edge's home, the
/// endpoint's view, the cluster) know events; it knows everything else about folding: when a
/// checkpoint is trusted, how much a turn may take, how it recovers when the log or the store
/// fails, when the end of the log is proven, and how far it has come.
namespace beckon::fold {

/// The proof by which a fold knows that it has read all records that were there when it began.
enum class Proof : std::uint8_t {
    barrier,  ///< a read barrier on each input
    /// The ends that the log named then. Nothing is published, so it is for pages that only show
    /// the state: no query can be confirmed, nothing may be denied by it, and the log's time is not
    /// known. Only for a state in memory.
    end,
};

struct Options {
    /// The folder that log lines name, e.g. "edge".
    std::string_view folder = "fold";
    std::vector<log::TopicPartition> inputs;
    core::NodeId node;
    /// The group under which the fold reports positions to the log, for lag tools; without prefix.
    /// Empty: none.
    std::string group;
    /// It delivers what it reads: log::PartitionReader::applies_backpressure().
    bool applies_backpressure = false;
    core::Duration delete_retention = std::chrono::hours{24 * 7};
    /// One turn takes no more than this from one input, and starts no new chunk after `turn_time`.
    std::size_t turn_records = 256;
    core::Duration turn_time = std::chrono::milliseconds{10};
    /// Bytes of one turn, of all inputs together, where others on the thread must not wait for many
    /// large records; 0: as many as there are.
    std::size_t turn_bytes = 0;
    /// A loop that stalled for so long trusts nothing before a new read barrier.
    core::Duration stall_after = std::chrono::seconds{3};
    /// Queries without an answer; more are answered `full`.
    std::size_t queries_max = 10'000;
    Proof proof = Proof::barrier;
    /// The longest pause before a reader that cannot go on is replaced.
    core::Duration replace_most = std::chrono::seconds{4};
};

/// Folds some partitions into one state. Everything of one Fold happens on one thread, that of the
/// executor, where it is also made and destroyed; no callback comes after that.
class Fold {
public:
    /// The dependencies of a fold; all of them outlive it.
    struct Context {
        log::EventLog& log;
        log::Publisher& publisher;
        core::Executor& executor;
        const core::Clock& clock;
    };

    /// `state` outlives the fold.
    Fold(Options options, Context context, State& state);
    ~Fold();

    void start();

    /// Answers once all records that were in the inputs at the call are folded (a read barrier
    /// on each). Errors: unavailable (not following yet, restarted meanwhile, or the log is away),
    /// timed_out, full; an error is never the negative answer.
    void confirm(Answer answer);
    /// A read barrier on one input.
    void confirm(InputIndex input, Answer answer);

    /// Answers once `offset` of an input is folded. Errors: as confirm().
    void when_folded(InputIndex input, core::Offset offset, Answer answer);

    /// The state changed through a decision and not through a record: a turn comes soon, with a
    /// commit() if the state is dirty(), and turn_ended().
    void request_turn();

    /// True after the loop stalled, until a read barrier that was set since has passed: another
    /// node may have taken over meanwhile.
    bool stalled();

    Progress progress() const;
    Phase phase() const;
    /// As in progress().
    const std::optional<Stuck>& stuck() const;
    /// Everything of the input below this is replayed.
    core::Offset position(InputIndex input) const;

    /// The log's time in an input's partition.
    const core::LogClock& log_clock(InputIndex input) const;

    /// Publishes as the given publisher does, and each report for an input sets its log clock: use
    /// it for everything that is published to the inputs.
    log::Publisher& publisher();

    /// Whether positions are reported under Options::group (from the start: yes). Of
    /// several folds of a partition only the one that serves should.
    void report_offsets(bool wanted);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::fold
