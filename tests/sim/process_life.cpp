#include "sim/process_life.hpp"

namespace beckon::sim {

void ProcessLife::run_on(SimLoop& loop, core::Duration delay, core::Executor::Task task) {
    if (!state_) return;
    sim_.post_after(delay, [state = std::weak_ptr{state_}, &loop,
                            task = std::move(task)]() mutable { turn(state, loop, task); });
}

void ProcessLife::turn(const std::weak_ptr<State>& state, SimLoop& loop,
                       core::Executor::Task& task) {
    const auto living = state.lock();
    if (!living) return;
    if (living->still) {
        living->waiting.push_back({&loop, std::move(task)});
        return;
    }
    task();
    loop.end_turn();
}

void ProcessLife::stand_still(bool still) {
    if (!state_ || std::exchange(state_->still, still) == still || still) return;
    for (auto& [loop, task] : std::exchange(state_->waiting, {})) {
        run_on(*loop, {}, std::move(task));
    }
}

/// If a hook has more work, the loop turns again, as ShardLoop does.
void SimLoop::end_turn() {
    bool again = false;
    for (const auto& hook : hooks_) again |= hook();
    if (again) post([] {});
}

}  // namespace beckon::sim
