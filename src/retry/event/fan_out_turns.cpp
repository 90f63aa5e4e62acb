#include "retry/event/fan_out_turns.hpp"

#include "core/contain.hpp"
#include "core/lifetime.hpp"
#include "retry/schedule/owner_budget.hpp"

#include <utility>

namespace beckon::retry {

namespace {

/// The cost of a part beside its steps.
constexpr std::size_t kStepsOfPart = 32;
/// An owner's share of the free capacity: alone, an owner holds nearly four tenths.
constexpr std::size_t kFraction = 1;

/// Turns are counted as time; this is the time of a step.
constexpr core::Duration time_of(std::size_t steps) {
    return std::chrono::nanoseconds{20} * static_cast<core::Duration::rep>(steps);
}

}  // namespace

struct FanOutTurns::Impl {
    explicit Impl(core::Executor& x) : executor(x) {}

    static constexpr std::size_t kDeliveries = 0;
    using Budget = OwnerBudget<Work, 1>;

    core::Executor& executor;
    Budget budget{time_of(kQuantum), {{{kDeliveriesMax, kFraction}}}};
    bool turn_posted = false;
    bool paused = false;
    core::Lifetime lifetime{executor};

    void wake();
    void turn();
    static Done part_of(const Work& work);
    void release(const std::string& name);
};

void FanOutTurns::Impl::wake() {
    if (paused || !budget.has_work() || turn_posted) return;
    executor.post(lifetime.guard([this] {
        turn_posted = false;
        turn();
    }));
    turn_posted = true;
}

void FanOutTurns::Impl::turn() {
    for (std::size_t steps = 0; steps < kPart;) {
        if (paused) return;
        auto* const next =
            budget.next([this](const auto& one) { return budget.has_share(one, kDeliveries); });
        if (!next) return;  // an owner comes, or a delivery is written
        const auto done = part_of(next->works.front());
        if (done.over) next->works.pop_front();
        budget.pay(*next, time_of(kStepsOfPart + done.steps));
        steps += kStepsOfPart + done.steps;
    }
    wake();  // the thread has others first
}

/// Work that throws is tried again in the owner's next turn; no other owner waits for it.
FanOutTurns::Done FanOutTurns::Impl::part_of(const Work& work) {
    Done done{.steps = kPart, .over = false};
    core::contain("retry", [&] { done = work(); });
    return done;
}

void FanOutTurns::Impl::release(const std::string& name) {
    budget.give_back(name, kDeliveries, 1);
    wake();
}

FanOutTurns::FanOutTurns(core::Executor& executor) : impl_(std::make_unique<Impl>(executor)) {}

FanOutTurns::~FanOutTurns() = default;

void FanOutTurns::set_paused(bool is) {
    impl_->paused = is;
    impl_->wake();
}

void FanOutTurns::add(const std::string& owner, Work work) {
    impl_->budget.add(owner, std::move(work));
    impl_->wake();
}

FanOutTurns::Release FanOutTurns::hold(const std::string& owner) {
    impl_->budget.hold(owner, Impl::kDeliveries, 1);
    return impl_->lifetime.guard([this, owner] { impl_->release(owner); });
}

bool FanOutTurns::has_capacity(const std::string& owner) const {
    return impl_->budget.has_share(owner, Impl::kDeliveries);
}

}  // namespace beckon::retry
