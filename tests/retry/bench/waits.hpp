#pragma once

#include "retry/bench/report.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::test {

/// The steps of an event with one webhook until its receiver has it, in order.
enum class Step : std::uint8_t {
    posted,         ///< handed to the role
    published,      ///< given to the log
    stored,         ///< the log has it
    read,           ///< by the fan-out
    fanned_out,     ///< its delivery is given to the log
    delivery_read,  ///< by the partition's home
    attempted,      ///< the request of the first attempt is made
    received,       ///< the receiver's first line of code
};
inline constexpr std::array kStepNames{"posted",     "published",     "stored",    "read",
                                       "fanned out", "delivery read", "attempted", "received"};
inline constexpr std::size_t kSteps = kStepNames.size();

/// The times at which the observed events reached each step. Any thread.
class Waits {
public:
    using Clock = std::chrono::steady_clock;

    /// Observes an event, by the key of its record, and its delivery, by its id.
    void observe(const std::string& event, const std::string& delivery) {
        const std::scoped_lock lock{mutex_};
        names_[event] = names_[delivery] = times_.size();
        times_.emplace_back()[0] = Clock::now();
    }
    void note(Step step, std::string_view name, Clock::time_point at = Clock::now()) {
        const std::scoped_lock lock{mutex_};
        const auto found = names_.find(name);
        if (found == names_.end()) return;
        auto& time = times_[found->second][static_cast<std::size_t>(step)];
        if (time == Clock::time_point{}) time = at;
    }
    /// Forgets all of them.
    void clear() {
        const std::scoped_lock lock{mutex_};
        names_.clear();
        times_.clear();
    }
    std::size_t observed() const {
        const std::scoped_lock lock{mutex_};
        return times_.size();
    }
    std::size_t reached(Step step) const { return between(Step::posted, step).size(); }
    /// Of each event that has reached both, the milliseconds from one to the other.
    std::vector<double> between(Step from, Step to) const {
        const std::scoped_lock lock{mutex_};
        std::vector<double> ms;
        for (const auto& times : times_) {
            const auto begin = times[static_cast<std::size_t>(from)];
            const auto end = times[static_cast<std::size_t>(to)];
            if (begin == Clock::time_point{} || end == Clock::time_point{}) continue;
            ms.push_back(std::chrono::duration<double, std::milli>{end - begin}.count());
        }
        return ms;
    }
    /// Where the events waited.
    void print() const {
        for (std::size_t step = 1; step < kSteps; ++step) {
            auto ms = between(static_cast<Step>(step - 1), static_cast<Step>(step));
            std::printf("    %-14s after %8.3f ms (p50) %9.3f ms (p99)\n", kStepNames.at(step),
                        percentile(ms, 0.5), percentile(ms, 0.99));
        }
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::size_t, std::less<>> names_;     ///< under mutex_
    std::vector<std::array<Clock::time_point, kSteps>> times_;  ///< under mutex_
};

}  // namespace beckon::test
