#include "retry/home/fan_out/fan_out_turns.hpp"

#include "core/contain.hpp"

#include <utility>

namespace beckon::retry {

namespace {

/// The cost of a part beside its steps.
constexpr std::size_t kStepsOfPart = 32;

}  // namespace

void FanOutTurns::wake() {
    if (!paused_ && budget_.has_work()) next_turn_.ask();
}

void FanOutTurns::turn() {
    for (std::size_t steps = 0; steps < kPart;) {
        if (paused_) return;
        auto* const next = budget_.next(kDeliveries);
        if (!next) return;  // an owner comes, or a delivery is written
        const auto done = part_of(next->works.front());
        if (done.over) next->works.pop_front();
        budget_.pay(*next, time_of(kStepsOfPart + done.steps));
        steps += kStepsOfPart + done.steps;
    }
    wake();  // the thread has others first
}

/// Work that throws is tried again in the owner's next turn; no other owner waits for it.
FanOutTurns::Done FanOutTurns::part_of(const Work& work) {
    Done done{.steps = kPart, .over = false};
    core::contain("retry", [&] { done = work(); });
    return done;
}

void FanOutTurns::set_paused(bool is) {
    paused_ = is;
    wake();
}

void FanOutTurns::add(const std::string& owner, Work work) {
    budget_.add(owner, std::move(work));
    wake();
}

FanOutTurns::Held FanOutTurns::hold(const std::string& owner) {
    budget_.hold(owner, kDeliveries, 1);
    return {nullptr, lifetime_.guard([this, owner](const void* /*none*/) {
                budget_.give_back(owner, kDeliveries, 1);
                wake();
            })};
}

}  // namespace beckon::retry
