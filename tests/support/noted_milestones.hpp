#pragma once

#include "core/clock.hpp"
#include "core/milestone.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::test {

/// Notes the reports in order. A caller that asks when an end is safe gets the answer at once, or
/// at `release()`.
struct NotedMilestones final : core::MilestoneSink {
    void reached(std::string_view id, core::Timestamp expires, core::Milestone milestone,
                 core::Timestamp at) noexcept override {
        reached(id, expires, milestone);
        times[milestone] = at;
    }
    void reached(std::string_view id, core::Timestamp expires,
                 core::Milestone milestone) noexcept override {
        noted.push_back(std::string{id} + " " + std::string{core::to_string(milestone)});
        last_expires = expires;
    }
    void reached_then(std::string_view id, core::Timestamp expires, core::Milestone milestone,
                      Done done) noexcept override {
        reached(id, expires, milestone);
        waiting.push_back(std::move(done));
        if (!holds) release();
    }
    void release() {
        for (const auto& done : std::exchange(waiting, {})) done();
    }
    std::vector<std::string> take() { return std::exchange(noted, {}); }

    bool holds = false;
    std::vector<std::string> noted;
    core::ByMilestone<core::Timestamp> times;
    core::Timestamp last_expires{};
    std::vector<Done> waiting;
};

}  // namespace beckon::test
