#include "log/traffic.hpp"

#include <algorithm>

namespace beckon::log {

using std::chrono::nanoseconds;

namespace {

constexpr nanoseconds kWindow = std::chrono::milliseconds{100};

std::int64_t ns_of(SteadyTime time) {
    return std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

void Traffic::count(std::size_t records, SteadyTime now) {
    const auto at = ns_of(now);
    auto since = since_.load(std::memory_order_relaxed);
    records_.fetch_add(records, std::memory_order_relaxed);
    if (at - since < kWindow.count()) return;
    if (!since_.compare_exchange_strong(since, at, std::memory_order_relaxed)) return;
    const auto seen = records_.exchange(0, std::memory_order_relaxed);
    per_second_.store(seen * 1'000'000'000 / static_cast<std::size_t>(at - since),
                      std::memory_order_relaxed);
}

std::size_t Traffic::per_second(SteadyTime now) const {
    const bool silent = ns_of(now) - since_.load(std::memory_order_relaxed) > 2 * kWindow.count();
    return silent ? 0 : per_second_.load(std::memory_order_relaxed);
}

std::chrono::milliseconds wait_at(std::size_t per_second, std::span<const WaitStep> steps) {
    const auto reached = std::find_if(steps.begin(), steps.end(), [&](const WaitStep& step) {
        return per_second >= step.per_second;
    });
    return reached == steps.end() ? std::chrono::milliseconds{0} : reached->wait;
}

}  // namespace beckon::log
