#pragma once

#include "core/clock.hpp"
#include "core/contain.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "retry/home/delivery_options.hpp"
#include "retry/home/queue/scheduler.hpp"
#include "retry/home/tiers/due.hpp"
#include "retry/home/tiers/home_context.hpp"
#include "retry/later_turn.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace beckon::retry {

/// Where a delivery's outcome is written; by the partition's tiers.
class DeliveryOutcomes {
public:
    virtual ~DeliveryOutcomes() = default;
    virtual void finish(const Ticket& ticket) = 0;
    virtual void promote(const Ticket& ticket, Delivery delivery, int tier) = 0;
    virtual void dead_letter(const Ticket& ticket, Delivery delivery) = 0;
};

/// The attempts of one thread, at webhooks (Dispatcher) and at bridges (Bridges): the deliveries
/// that wait for one, which of them is next (Scheduler), which are under way, and when all have
/// ended.
///
/// What an attempt's beginning throws ends that attempt alone. A delivery during whose attempts two
/// processes ended is known from the journal. On the executor's thread.
class AttemptQueue {
public:
    /// The time that an attempt may take beyond its time-out until its outcome is in the log.
    static constexpr core::Duration kOverhead = std::chrono::seconds{2};
    /// While deliveries wait, the scheduler is asked at least so often.
    static constexpr core::Duration kPollAgain = std::chrono::milliseconds{100};
    /// Attempts that are begun in one turn of the thread; some tenths of a millisecond. A turn
    /// that has lasted kTurn begins no more of them: attachments may take long.
    static constexpr std::size_t kStartsPerTurn = 4;
    static constexpr core::Duration kTurn = std::chrono::microseconds{125};

    /// `next` gets the delivery that is next, and calls begin() or give_back() for it, perhaps
    /// later.
    AttemptQueue(const DeliveryOptions& options, HomeContext context,
                 std::function<void(Job)> next);

    /// As Scheduler::add().
    std::optional<core::Duration> add(Job& job);
    /// An attempt with that time-out could outlive the process.
    bool too_late(core::Duration timeout) const;
    /// Logs that it is set aside, too.
    bool has_ended_processes(const Due& due) const;

    /// Begins an attempt. `send(done)` sends the request; `done(answer)` ends the attempt, once.
    /// What `send` throws ends it with `failed`. `ended(answer, ours)` calls ended() and decides
    /// what follows; `ours` is false if the partition was forgotten meanwhile: the outcome is for
    /// the next home to write.
    template <class Answer, class Send, class Ended>
    void begin(std::shared_ptr<const Job> job, const Send& send, Ended ended, Answer failed) {
        const WorkJournal::Slot::Work work{context_.journal, WorkJournal::Piece::of(job->due)};
        const auto number = job->attempt;
        const auto began = context_.clock.mono();
        under_way_.emplace(number, job->due.ticket.partition);
        const std::function<void(Answer)> done = lifetime_.guard([this, number,
                                                                  job = std::move(job),
                                                                  ended = std::move(ended)](
                                                                     const Answer& answer) {
            const auto attempt = under_way_.extract(number);
            if (attempt.empty()) return;
            const WorkJournal::Slot::Work end{context_.journal, WorkJournal::Piece::of(job->due)};
            ended(answer, attempt.mapped().has_value());
            if (!finish_drain()) pump_soon();
        });
        if (!core::contain("retry attempts", [&] { send(done); })) {
            context_.executor.post([done, failed = std::move(failed)] { done(failed); });
        }
        scheduler_.charge(number, context_.clock.mono() - began);
    }
    void charge(std::uint64_t attempt, core::Duration processor) {
        scheduler_.charge(attempt, processor);
    }
    void ended(const Scheduler::Ended& attempt) { scheduler_.ended(attempt); }
    /// The job is not attempted after all.
    void give_back(const Job& job);
    /// Looks for the next attempts in a later turn, unless a drain is under way.
    void pump_soon() { pump_.ask(); }

    /// The partition is not this node's any more: its waiting deliveries are dropped.
    void forget(core::Partition partition);

    /// A drain waits for a release(), as for an attempt.
    void hold() { ++holds_; }
    void release();
    /// Begins nothing more; `done` once nothing is under way.
    void drain(std::function<void()> done);
    bool draining() const { return draining_; }
    /// Begins attempts again; a `done` that was not called yet is dropped.
    void resume();

    const Scheduler& scheduler() const { return scheduler_; }

private:
    void pump();
    bool finish_drain();

    const std::optional<core::MonoTime> stop_at_;
    const HomeContext context_;
    const std::function<void(Job)> next_;
    Scheduler scheduler_;
    /// The partition of each attempt; nullopt: it was forgotten.
    std::map<std::uint64_t, std::optional<core::Partition>> under_way_;
    std::size_t holds_ = 0;
    LaterTurn pump_{context_.executor, [this] { pump(); }};
    LaterTurn poll_{context_.executor, [this] { pump(); }};
    bool draining_ = false;
    std::function<void()> drained_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
