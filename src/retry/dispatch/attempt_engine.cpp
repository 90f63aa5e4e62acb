#include "retry/dispatch/attempt_engine.hpp"

#include "core/logger.hpp"

namespace beckon::retry {

AttemptEngine::AttemptEngine(Context context, std::function<void()> pump)
    : context_(context), pump_(std::move(pump)), lifetime_(context.executor) {}

void AttemptEngine::pump_soon() {
    if (pump_posted_) return;
    context_.executor.post(lifetime_.guard([this] {
        pump_posted_ = false;
        if (!draining_) pump_();
    }));
    pump_posted_ = true;
}

bool AttemptEngine::too_late(core::Duration timeout) const {
    return context_.stop_at && context_.clock.mono() + timeout + kOverhead > *context_.stop_at;
}

bool AttemptEngine::has_ended_processes(const Due& due) const {
    if (!context_.journal || !context_.journal->has_ended_processes(WorkJournal::Piece::of(due)))
        return false;
    core::log_error("retry", "delivery_set_aside",
                    {{"delivery", due.delivery.id},
                     {"webhook", due.delivery.webhook},
                     {"why", "two processes ended while they attempted it"},
                     {"effect", "it is kept in retry.dead"}});
    return true;
}

void AttemptEngine::forget(core::Partition partition) {
    for (auto& [number, of] : under_way_) {
        if (of == partition) of.reset();
    }
}

void AttemptEngine::release() {
    --holds_;
    finish_drain();
}

/// True if a drain was under way, and has ended.
bool AttemptEngine::finish_drain() {
    if (!draining_ || !drained_ || !under_way_.empty() || holds_ > 0) return false;
    context_.executor.post(std::exchange(drained_, {}));
    return true;
}

void AttemptEngine::drain(std::function<void()> done) {
    draining_ = true;
    drained_ = std::move(done);
    finish_drain();
}

void AttemptEngine::resume() {
    draining_ = false;
    drained_ = {};
    pump_soon();
}

}  // namespace beckon::retry
