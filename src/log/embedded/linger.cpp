#include "log/embedded/linger.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace beckon::log::embedded {

using std::chrono::milliseconds;

namespace {

constexpr std::array kSteps = {
    WaitStep{16'000, milliseconds{10}},
    WaitStep{6'000, milliseconds{5}},
    WaitStep{3'000, milliseconds{2}},
};

}  // namespace

milliseconds batch_pace(std::size_t per_second) { return wait_at(per_second, kSteps); }

SteadyTime::duration Linger::pace(SteadyTime now) const {
    return batch_pace(traffic_.per_second(now));
}

void Linger::probed(std::size_t when_due, std::size_t in_the_end) {
    until_probe_ = kProbeEvery;
    enough_ = kNever;
    const auto before = std::exchange(all_came_, in_the_end == when_due ? in_the_end : 0);
    if (before > 0 && all_came_ > 0) enough_ = std::max(before, all_came_);
}

void Linger::begun(std::size_t puts, SteadyTime now) {
    if (puts > 0) traffic_.count(puts, now);
    last_ = now;
    if (until_probe_ > 0 && --until_probe_ == 0) enough_ = kNever;
}

}  // namespace beckon::log::embedded
