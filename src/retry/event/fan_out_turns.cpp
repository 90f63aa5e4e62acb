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
    Impl(core::Executor& x, Aside a) : executor(x), aside(a) {}

    enum Held : std::size_t { deliveries, bytes };
    using Budget = OwnerBudget<Work, 2>;

    core::Executor& executor;
    const Aside aside;
    Budget budget{time_of(kQuantum), {{{kDeliveriesMax, kFraction}, {kBytesMax, kFraction}}}};
    bool turn_posted = false;
    bool paused = false;
    core::Lifetime lifetime{executor};

    bool may_write(const Budget::Owner& owner) const {
        return budget.has_share(owner, deliveries) && budget.has_share(owner, bytes);
    }
    void wake();
    void turn();
    static Done part_of(const Work& work);
    void release(const std::string& name, std::size_t of_bytes);
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
        auto* const next = budget.next([this](const auto& one) { return may_write(one); });
        if (!next) return;  // an owner comes, or a delivery is written
        const auto done = part_of(next->works.front());
        if (done.over) next->works.pop_front();
        next->away = done.away;
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

void FanOutTurns::Impl::release(const std::string& name, std::size_t of_bytes) {
    auto& one = budget.owner(name);
    budget.give_back(one, deliveries, 1);
    budget.give_back(one, bytes, of_bytes);
    wake();
}

FanOutTurns::FanOutTurns(core::Executor& executor, Aside aside)
    : impl_(std::make_unique<Impl>(executor, aside)) {}

FanOutTurns::~FanOutTurns() = default;

void FanOutTurns::set_paused(bool is) {
    impl_->paused = is;
    impl_->wake();
}

void FanOutTurns::add(const std::string& owner, Work work) {
    impl_->budget.add(owner, std::move(work));
    impl_->wake();
}

void FanOutTurns::back(const std::string& owner) {
    impl_->budget.owner(owner).away = false;
    impl_->wake();
}

void FanOutTurns::do_aside(WorkJournal::Piece piece, std::function<void()> work,
                           std::function<void()> then) {
    impl_->aside.executor.post([piece = std::move(piece), work = std::move(work),
                                then = std::move(then), journal = impl_->aside.journal,
                                here = impl_->lifetime.remote()] {
        const WorkJournal::Slot::Work journaled{journal, piece};
        work();
        here.post(then);
    });
}

FanOutTurns::Release FanOutTurns::hold(const std::string& owner, std::size_t bytes) {
    auto& one = impl_->budget.owner(owner);
    impl_->budget.hold(one, Impl::deliveries, 1);
    impl_->budget.hold(one, Impl::bytes, bytes);
    return impl_->lifetime.guard([this, owner, bytes] { impl_->release(owner, bytes); });
}

bool FanOutTurns::has_capacity(const std::string& owner) const {
    return impl_->budget.has_share(owner, Impl::deliveries) &&
           impl_->budget.has_share(owner, Impl::bytes);
}

std::size_t FanOutTurns::owners() const { return impl_->budget.owners(); }

}  // namespace beckon::retry
