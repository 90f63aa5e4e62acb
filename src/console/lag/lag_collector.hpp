#pragma once

#include "console/lag/lag_table.hpp"
#include "core/clock.hpp"
#include "log/groups.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace beckon::console {

/// The lag of all groups at one moment. Immutable: pages that show it keep it.
struct LagPage {
    core::Timestamp at{};  ///< zero: nothing is known yet
    std::vector<LagRow> rows{};
    std::vector<std::string> problems{};
    std::chrono::milliseconds took{};
};
using LagPagePtr = std::shared_ptr<const LagPage>;

/// Polls all groups again and again, on a thread of its own (`console-lag`), which alone waits
/// for brokers.
class LagCollector {
public:
    static constexpr std::chrono::seconds kEvery{5};
    /// Records read per poll to learn their append times.
    static constexpr std::size_t kProbesMax = 8;

    struct Context {
        log::Groups& groups;  ///< used on the thread alone; outlives it, as the clock does
        const core::Clock& clock;
        LagTable::Context table = {};
    };
    /// `polled` is called on the thread after each poll.
    LagCollector(Context context, std::function<void(const LagPagePtr&)> polled);
    /// Waits for the poll under way, which ends soon.
    ~LagCollector();
    LagCollector(const LagCollector&) = delete;
    LagCollector& operator=(const LagCollector&) = delete;

private:
    void run(const std::stop_token& stop);

    Context context_;
    const std::function<void(const LagPagePtr&)> polled_;
    std::jthread thread_;  ///< last: it uses the others
};

/// One poll: takes the groups' positions into the table, learns some ages, and makes the page. A
/// poll that failed shows no rows, but the reason. Blocks.
LagPagePtr poll(LagTable& table, log::Groups& groups, const core::Clock& clock,
                const std::stop_token& stop);

}  // namespace beckon::console
