#pragma once

#include "core/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::sim {

/// One thing that happens in a run.
enum class Act : std::uint8_t {
    client,  ///< a client connects, registers, unregisters, leaves, …
    send,    ///< a sender posts a message, or ten
    take_back,
    // --- faults
    kill_edge,    ///< sometimes with its disk
    stop_edge,    ///< SIGTERM
    freeze_edge,  ///< SIGSTOP, SIGCONT
    mute_edge,    ///< its heartbeats are lost
    start_edge,   ///< one more joins
    kill_endpoint,
    freeze_endpoint,
    fail_publishes,
    lose_reports,
    log_away,
    edge_without_log,  ///< the log is away for one host alone
    endpoint_without_log,
    hold_reader,  ///< one partition of a log topic is stalled for its readers
    compact,
    cut_link,    ///< nothing gets from one node to another
    reset_link,  ///< in the middle of a message; sometimes only one end is notified
    slow_links,
    reject_link,  ///< a firewall refuses calls to a node, which stands still at times
    step_clock,
    silence,  ///< nobody does anything for a while
};
inline constexpr std::size_t kActs = 23;
std::string_view to_string(Act act);
constexpr bool is_fault(Act act) { return act >= Act::kill_edge; }

/// The dice decide what exactly happens, whatever happened before: a step means the same when
/// others are left out.
template <class Act>
struct StepOf {
    Act act{};
    std::uint64_t dice = 0;
    core::Duration then{};  ///< time until the next one
};
using Step = StepOf<Act>;
using Story = std::vector<Step>;

enum class Clocks { right, hostile };

/// The pen of a story: dice, and the steps so far.
template <class Act>
class StoryWriter {
public:
    explicit StoryWriter(std::uint64_t seed) : random_(seed) {}

    void add(Act act, core::Duration then = {}) { story_.push_back({act, random_(), then}); }
    /// The last step takes so much longer.
    void wait(core::Duration longer) { story_.back().then += longer; }
    /// A fault of the list, seldom alone.
    template <class Faults>
    void add_faults(const Faults& faults) {
        const auto some = [&] { return faults[random_() % faults.size()]; };
        const auto then = up_to(std::chrono::seconds{1});
        add(some(), then);
        if (chance(40)) add(some());
    }
    bool chance(std::uint64_t percent) { return random_() % 100 < percent; }
    core::Duration up_to(core::Duration most) {
        return core::Duration{static_cast<core::Duration::rep>(
            random_() % (static_cast<std::uint64_t>(most.count()) + 1))};
    }
    std::vector<StepOf<Act>> take() { return std::move(story_); }

private:
    std::mt19937_64 random_;
    std::vector<StepOf<Act>> story_;
};

/// The story of a seed. Pure.
Story story_of(std::uint64_t seed, Clocks clocks);

}  // namespace beckon::sim
