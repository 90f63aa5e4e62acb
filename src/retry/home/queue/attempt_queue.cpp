#include "retry/home/queue/attempt_queue.hpp"

#include "core/logger.hpp"

namespace beckon::retry {

namespace {

Scheduler::Options schedule_of(const DeliveryOptions& options) {
    auto schedule = options.schedule;
    schedule.tiers = static_cast<std::size_t>(options.table.tiers().back()) + 1;
    return schedule;
}

}  // namespace

AttemptQueue::AttemptQueue(const DeliveryOptions& options, HomeContext context,
                           std::function<void(Job)> next)
    : stop_at_(options.stop_at),
      context_(context),
      next_(std::move(next)),
      scheduler_(schedule_of(options)),
      lifetime_(context.executor) {}

std::optional<core::Duration> AttemptQueue::add(Job& job) {
    const auto wait = scheduler_.add(job);
    if (!wait) pump_soon();
    return wait;
}

void AttemptQueue::pump() {
    const auto until = context_.clock.mono() + kTurn;
    for (std::size_t taken = 0; !draining_; ++taken) {
        const bool over = taken > 0 && context_.clock.mono() >= until;
        // The thread has others first.
        if (over || taken >= kStartsPerTurn) return pump_soon();
        auto job = scheduler_.next(context_.clock.mono());
        if (!job) {
            // An owner's share may grow with time alone (Scheduler::kQuick).
            if (scheduler_.waiting() > 0) poll_.ask(kPollAgain);
            return;
        }
        next_(std::move(*job));
    }
}

bool AttemptQueue::too_late(core::Duration timeout) const {
    return stop_at_ && context_.clock.mono() + timeout + kOverhead > *stop_at_;
}

bool AttemptQueue::has_ended_processes(const Due& due) const {
    if (!context_.has_ended_processes(WorkJournal::Piece::of(due))) return false;
    core::log_error("retry", "delivery_set_aside",
                    {{"delivery", due.delivery.id},
                     {"webhook", due.delivery.webhook},
                     {"why", "two processes ended while they attempted it"},
                     {"effect", "it is kept in retry.dead"}});
    return true;
}

void AttemptQueue::give_back(const Job& job) {
    scheduler_.ended({.attempt = job.attempt, .attempted = false});
    finish_drain();
}

void AttemptQueue::forget(core::Partition partition) {
    scheduler_.forget(partition);
    for (auto& [number, of] : under_way_) {
        if (of == partition) of.reset();
    }
}

void AttemptQueue::release() {
    --holds_;
    finish_drain();
}

/// True if a drain was under way, and has ended.
bool AttemptQueue::finish_drain() {
    if (!draining_ || !drained_ || scheduler_.in_flight() > 0 || holds_ > 0) return false;
    context_.executor.post(std::exchange(drained_, {}));
    return true;
}

void AttemptQueue::drain(std::function<void()> done) {
    draining_ = true;
    drained_ = std::move(done);
    finish_drain();
}

void AttemptQueue::resume() {
    draining_ = false;
    drained_ = {};
    pump_soon();
}

}  // namespace beckon::retry
