#include "retry/event/fan_out_turns.hpp"

#include "core/contain.hpp"
#include "core/lifetime.hpp"
#include "retry/schedule/fair_share.hpp"
#include "retry/schedule/round_robin.hpp"

#include <algorithm>
#include <deque>
#include <map>
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
    Impl(core::Executor& x, core::Executor& a) : executor(x), aside(a) {}

    struct Owner : RoundRobinPlace {
        Owner() : RoundRobinPlace{.credit = time_of(kQuantum)} {}
        std::deque<Work> works;
        std::size_t deliveries = 0;  ///< under way
        std::size_t bytes = 0;
        bool away = false;
    };

    core::Executor& executor;
    core::Executor& aside;
    std::map<std::string, Owner, std::less<>> all;
    RoundRobin<Owner> line{time_of(kQuantum)};
    FairShare deliveries{kDeliveriesMax};
    FairShare bytes{kBytesMax};
    std::size_t sweep_at = 1'024;
    bool turn_posted = false;
    bool paused = false;
    core::Lifetime lifetime{executor};

    Owner& owner(const std::string& name);
    bool may_write(const Owner& owner) const;
    void wake();
    void turn();
    static Done part_of(const Work& work);
    void release(const std::string& name, std::size_t of_bytes);
};

FanOutTurns::Impl::Owner& FanOutTurns::Impl::owner(const std::string& name) {
    auto& found = all[name];
    if (all.size() < sweep_at) return found;
    std::erase_if(all, [&](const auto& one) {
        const auto& o = one.second;
        return &o != &found && !o.in_line && o.works.empty() && o.deliveries == 0;
    });
    sweep_at = std::max<std::size_t>(1'024, 2 * all.size());
    return found;
}

bool FanOutTurns::Impl::may_write(const Owner& one) const {
    return one.deliveries < deliveries.share(kFraction) && one.bytes < bytes.share(kFraction);
}

void FanOutTurns::Impl::wake() {
    if (paused || line.empty() || turn_posted) return;
    executor.post(lifetime.guard([this] {
        turn_posted = false;
        turn();
    }));
    turn_posted = true;
}

void FanOutTurns::Impl::turn() {
    const auto ask = [this](const Owner& one) {
        using Turn = RoundRobin<Owner>::Turn;
        if (one.works.empty()) return Turn::leave;
        return !one.away && may_write(one) ? Turn::take : Turn::wait;
    };
    for (std::size_t steps = 0; steps < kPart;) {
        if (paused) return;
        auto* const next = line.next(ask);
        if (!next) return;  // an owner comes, or a delivery is written
        const auto done = part_of(next->works.front());
        if (done.over) next->works.pop_front();
        next->away = done.away;
        next->credit -= time_of(kStepsOfPart + done.steps);
        if (next->works.empty()) line.rest(*next);
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
    deliveries.give_back(1);
    bytes.give_back(of_bytes);
    auto& one = owner(name);
    --one.deliveries;
    one.bytes -= of_bytes;
    wake();
}

FanOutTurns::FanOutTurns(core::Executor& executor, core::Executor& aside)
    : impl_(std::make_unique<Impl>(executor, aside)) {}

FanOutTurns::~FanOutTurns() = default;

void FanOutTurns::set_paused(bool is) {
    impl_->paused = is;
    impl_->wake();
}

void FanOutTurns::add(const std::string& owner, Work work) {
    auto& one = impl_->owner(owner);
    one.works.push_back(std::move(work));
    impl_->line.enter(one);
    impl_->wake();
}

void FanOutTurns::back(const std::string& owner) {
    impl_->owner(owner).away = false;
    impl_->wake();
}

void FanOutTurns::do_aside(std::function<void()> work, std::function<void()> then) {
    impl_->aside.post(
        [work = std::move(work), then = std::move(then), here = impl_->lifetime.remote()] {
            work();
            here.post(then);
        });
}

FanOutTurns::Release FanOutTurns::hold(const std::string& owner, std::size_t bytes) {
    auto& one = impl_->owner(owner);
    ++one.deliveries;
    one.bytes += bytes;
    impl_->deliveries.take(1);
    impl_->bytes.take(bytes);
    return impl_->lifetime.guard([this, owner, bytes] { impl_->release(owner, bytes); });
}

bool FanOutTurns::has_capacity(const std::string& owner) const {
    const auto found = impl_->all.find(owner);
    return found == impl_->all.end() || impl_->may_write(found->second);
}

std::size_t FanOutTurns::owners() const { return impl_->all.size(); }

}  // namespace beckon::retry
