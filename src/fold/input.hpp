#pragma once

#include "core/clock.hpp"
#include "core/log_clock.hpp"
#include "fold/progress.hpp"
#include "fold/read_barrier.hpp"
#include "fold/state.hpp"
#include "log/event_log.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace beckon::fold {

/// The waiters for offsets that the fold has not passed yet. Answers may destroy the owner.
class Waiters {
public:
    /// The id, for cut_off().
    std::uint64_t add(core::Offset offset, Answer answer);
    /// Answers the waiters for offsets below `next`.
    void passed(core::Offset next);
    /// Answers one with `why`, if it still waits.
    void cut_off(std::uint64_t id, const core::Error& why);
    void refuse_all(const core::Error& why);

private:
    struct Waiter {
        std::uint64_t id;
        Answer answer;
    };
    std::multimap<core::Offset, Waiter> waiters_;
    std::uint64_t next_id_ = 0;
};

/// One partition that is folded: its reader's position, its log time, and its waiters. Knows the
/// log, not the state.
class Input {
public:
    /// Records between two readings of the clock.
    static constexpr std::size_t kChunk = 64;
    /// Records of others since the last report of our own: how long the log's time may go on
    /// without one.
    static constexpr core::Duration kReportEvery = std::chrono::seconds{10};

    Input(log::TopicPartition where, const core::Clock& clock)
        : where_(where), clock_(clock), log_clock_(clock) {}

    const log::TopicPartition& where() const { return where_; }
    core::LogClock& log_clock() { return log_clock_; }
    const core::LogClock& log_clock() const { return log_clock_; }

    // --- opening
    void received_ends(const log::Ends& ends);
    const log::Ends& ends() const { return ends_; }
    /// The first read barrier of this life, published before anything was asked or read.
    void first_barrier(core::Offset at) { first_barrier_ = at; }
    void received_identity(bool made_anew) { made_anew_ = made_anew; }
    /// The partition is not the one of which the checkpoint was read.
    bool made_anew() const { return made_anew_; }
    /// Begins at a checkpoint; `barrier` serves the queries of this life.
    void begin_at(const core::Checkpoint& checkpoint, std::unique_ptr<ReadBarrier> barrier);
    void read_with(std::unique_ptr<log::PartitionReader> reader) { reader_ = std::move(reader); }
    bool reading() const { return reader_ != nullptr; }
    void stop_reading();

    // --- a turn
    /// Passes on one chunk. Errors: as PartitionReader::take().
    core::Result<log::Taken> take(std::size_t max, const log::RecordSink& sink);
    bool drained() const { return drained_; }
    /// The last chunk was not the last.
    bool has_more() const { return has_more_; }
    core::Offset replayed() const { return replayed_; }
    /// As in core::Checkpoint, of the records below replayed().
    core::Timestamp youngest() const { return youngest_; }
    log::ReadUpTo read_up_to() const { return {replayed_, youngest_}; }
    /// As read_up_to(), when the partition was last known to be the one that was opened. Records
    /// that were read since then may be of another one.
    const log::ReadUpTo& confirmed() const { return confirmed_; }
    void confirm(const log::ReadUpTo& read) { confirmed_ = read; }
    /// The records below it are folded, and what follows from them has left.
    core::Offset position() const { return position_; }
    /// Whether the state should be notified where we are, and if that is the log's end.
    bool moved() const { return moved_; }
    bool at_end() const;
    bool end_report_is_due() const;
    void reported(bool at_end);
    void turn_ended();
    bool passed_first_barrier() const { return position_ > first_barrier_; }

    /// Records came in, and for too long no publish of our own has reported the log's time.
    bool wants_report() const;

    ReadBarrier& barrier() { return *barrier_; }
    bool has_barrier() const { return barrier_ != nullptr; }
    Waiters& waiters() { return waiters_; }
    InputProgress progress() const;

private:
    void note_end();

    const log::TopicPartition where_;
    const core::Clock& clock_;
    core::LogClock log_clock_;
    std::unique_ptr<ReadBarrier> barrier_;
    std::unique_ptr<log::PartitionReader> reader_;
    Waiters waiters_;

    log::Ends ends_;
    core::MonoTime ends_received_{};
    core::Offset first_barrier_ = 0;
    core::Offset replayed_ = 0;
    core::Offset position_ = 0;
    core::Timestamp newest_{};  ///< append time of the last replayed record
    core::Timestamp youngest_{};
    log::ReadUpTo confirmed_;
    bool made_anew_ = false;
    bool drained_ = false;  ///< the reader's last word
    bool has_more_ = false;
    bool left_some_ = false;         ///< the last chunk that was read was not the last
    bool moved_ = false;             ///< since the state was notified
    core::MonoTime others_wrote_{};  ///< when a record that is not a control record was read last
    std::optional<core::MonoTime> at_end_;  ///< when everything that was known of was folded
    core::MonoTime reported_end_{};  ///< when the state was last notified that this is the end
};

using Inputs = std::vector<std::unique_ptr<Input>>;
std::vector<InputIndex> indexes_of(const Inputs& inputs);

}  // namespace beckon::fold
