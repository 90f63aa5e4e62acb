#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::test {

/// The steps of an event with one webhook until its receiver has it, in order.
enum class Step : std::uint8_t {
    posted,     ///< handed to the role
    stored,     ///< the log has it
    attempted,  ///< the request of the first attempt is made
    received,   ///< the receiver's first line of code
};
inline constexpr std::size_t kSteps = 4;

/// The times at which the observed events reached each step. Any thread; notes take no lock, since
/// a thread that holds one and loses its processor would hold up all others that are measured.
class Waits {
public:
    using Clock = std::chrono::steady_clock;

    /// An event, by the key of its record, and its delivery, by its id.
    struct Names {
        std::string event;
        std::string delivery;
    };
    /// Observes these from now on, and the former ones no more.
    void observe(const std::vector<Names>& events) {
        auto& next = *all_.emplace_back(std::make_unique<Observed>(events.size()));
        for (std::size_t i = 0; i < events.size(); ++i) {
            next.names[events[i].event] = next.names[events[i].delivery] = i;
        }
        now_ = &next;
    }
    void note(Step step, std::string_view name, Clock::time_point at = Clock::now()) {
        auto* const observed = now_.load();
        if (!observed) return;
        const auto found = observed->names.find(name);
        if (found == observed->names.end()) return;
        Clock::rep none = 0;
        observed->times[found->second][static_cast<std::size_t>(step)].compare_exchange_strong(
            none, at.time_since_epoch().count());
    }
    std::size_t reached(Step step) const { return between(Step::posted, step).size(); }
    /// Of each event that has reached both, the milliseconds from one to the other.
    std::vector<double> between(Step from, Step to) const {
        std::vector<double> ms;
        for (const auto& times : now_.load()->times) {
            const auto begin = times[static_cast<std::size_t>(from)].load();
            const auto end = times[static_cast<std::size_t>(to)].load();
            if (begin == 0 || end == 0) continue;
            ms.push_back(
                std::chrono::duration<double, std::milli>{Clock::duration{end - begin}}.count());
        }
        return ms;
    }

private:
    struct Observed {
        explicit Observed(std::size_t events) : times(events) {}
        std::map<std::string, std::size_t, std::less<>> names;
        std::vector<std::array<std::atomic<Clock::rep>, kSteps>> times;  ///< 0: not reached
    };
    std::vector<std::unique_ptr<Observed>> all_;  ///< of the observing thread
    std::atomic<Observed*> now_ = nullptr;
};

}  // namespace beckon::test
