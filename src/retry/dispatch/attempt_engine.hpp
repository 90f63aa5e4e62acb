#pragma once

#include "core/clock.hpp"
#include "core/contain.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "retry/tiers/due.hpp"
#include "retry/tiers/work_journal.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace beckon::retry {

/// The attempts of one thread: when to look for the next ones, which are under way, and when all
/// have ended. Its lanes are the webhooks (Dispatcher) and the bridges (Bridges): each has its own
/// queue, and decides what follows from an outcome.
///
/// What an attempt's beginning throws ends that attempt alone. A delivery during whose attempts two
/// processes ended is known from the journal. On the executor's thread.
class AttemptEngine {
public:
    /// The time that an attempt may take beyond its time-out until its outcome is in the log.
    static constexpr core::Duration kOverhead = std::chrono::seconds{2};

    struct Context {
        core::Executor& executor;
        const core::Clock& clock;
        /// No attempt starts that could outlive this.
        std::optional<core::MonoTime> stop_at{};
        WorkJournal::Slot* journal = nullptr;  ///< of this thread; may be null
    };
    /// `pump` begins the attempts that are next.
    AttemptEngine(Context context, std::function<void()> pump);

    /// Calls `pump` in a turn of its own, unless a drain is under way.
    void pump_soon();
    bool draining() const { return draining_; }
    /// An attempt with that time-out could outlive the process.
    bool too_late(core::Duration timeout) const;
    /// Logs that it is set aside, too.
    bool has_ended_processes(const Due& due) const;

    /// Begins an attempt. `send(done)` sends the request; `done(answer)` ends the attempt, once.
    /// What `send` throws ends it with `failed`. `ended(answer, ours)` decides what follows; `ours`
    /// is false if the partition was forgotten meanwhile: the outcome is for the next home to
    /// write.
    template <class Answer, class Send, class Ended>
    void begin(std::shared_ptr<const Due> due, const Send& send, Ended ended, Answer failed) {
        const WorkJournal::Slot::Work work{context_.journal, WorkJournal::Piece::of(*due)};
        const auto number = ++last_;
        under_way_.emplace(number, due->ticket.partition);
        const std::function<void(Answer)> done = lifetime_.guard(
            [this, number, due = std::move(due), ended = std::move(ended)](const Answer& answer) {
                const auto attempt = under_way_.extract(number);
                if (attempt.empty()) return;
                const WorkJournal::Slot::Work end{context_.journal, WorkJournal::Piece::of(*due)};
                ended(answer, attempt.mapped().has_value());
                if (!finish_drain()) pump_soon();
            });
        if (core::contain("retry attempts", [&] { send(done); })) return;
        context_.executor.post([done, failed = std::move(failed)] { done(failed); });
    }
    std::size_t under_way() const { return under_way_.size(); }
    /// The partition is not this node's any more.
    void forget(core::Partition partition);

    /// A drain waits for a release(), as for an attempt.
    void hold() { ++holds_; }
    void release();
    /// Begins nothing more; `done` once nothing is under way.
    void drain(std::function<void()> done);
    /// Begins attempts again; a `done` that was not called yet is dropped.
    void resume();

private:
    bool finish_drain();

    const Context context_;
    const std::function<void()> pump_;
    /// The partition of each attempt; nullopt: it was forgotten.
    std::map<std::uint64_t, std::optional<core::Partition>> under_way_;
    std::uint64_t last_ = 0;  ///< number of an attempt
    std::size_t holds_ = 0;
    bool pump_posted_ = false;
    bool draining_ = false;
    std::function<void()> drained_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
