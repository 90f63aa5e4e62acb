#pragma once

#include "console/cluster/ownership_view.hpp"
#include "console/lag/lag_table.hpp"
#include "console/overview/facts.hpp"
#include "console/overview/history.hpp"
#include "console/web/live_pages.hpp"
#include "core/clock.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace beckon::console {

/// Publishes the pages "status", "overview" and "nodes", and keeps the last hour of what "overview"
/// shows. One thread.
class Overview {
public:
    static constexpr std::chrono::seconds kJudgeEvery{2};
    /// A partition that has had no home for less than this is being handed over, and is no finding.
    static constexpr std::chrono::seconds kHomelessMin{10};

    struct Context {
        LivePages& pages;
        const core::Clock& clock;
        core::Duration history_window{};
        /// Why the log cannot be read; empty text: it can. May be empty.
        std::function<std::string()> log_problem = {};
        /// The report of this process, where it is the installation's only one; else empty.
        std::function<cluster::ProcessRecord()> self = {};
        /// Adds what other parts of the console know.
        std::function<void(Installation&)> more = {};
    };
    explicit Overview(Context context) : context_(std::move(context)) {}

    /// Call it every second. `lag`: the newest; nullptr: none yet.
    void tick(OwnershipView& view, const LagPagePtr& lag);

private:
    Installation facts(OwnershipView& view, const LagPagePtr& lag);
    void publish(const std::shared_ptr<const Installation>& known, std::size_t new_points);
    void hold_back(std::vector<HomelessFacts>& homeless, core::MonoTime now);

    const Context context_;
    History history_;
    std::shared_ptr<const History> shown_history_;  ///< a copy of history_; null: no point yet
    std::string shown_now_;                         ///< of the page "overview"; empty: none yet
    core::MonoTime judge_at_{};
    core::MonoTime point_at_{};
    /// When a partition was first seen without a home.
    std::map<std::pair<std::string, int>, core::MonoTime> homeless_since_;
};

/// Beckon's own groups that are not OK, or that lose records. Pure.
std::vector<GroupFacts> groups_of(const LagPage& page);

}  // namespace beckon::console
