#include "console/overview/overview.hpp"

#include "console/overview/overview_json.hpp"
#include "console/overview/verdict.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace beckon::console {

std::vector<GroupFacts> groups_of(const LagPage& page) {
    std::map<std::string, GroupFacts> groups;
    std::map<std::string, std::set<std::string>> owners;
    for (const auto& row : page.rows) {
        if (!row.own) continue;
        // That nobody lives who reads is a finding of the role or of its partitions.
        if ((row.status == Status::ok || row.facts.dead) && row.loss == Loss::none) continue;
        auto& group = groups[row.group];
        group.group = row.group;
        group.status = std::max(group.status, row.status);
        group.loss = std::max(group.loss, row.loss);
        if (!row.owner.empty()) owners[row.group].insert(row.owner);
    }
    std::vector<GroupFacts> out;
    for (auto& [name, group] : groups) {
        const auto& known = owners[name];
        group.owners = {known.begin(), known.end()};
        out.push_back(std::move(group));
    }
    return out;
}

void Overview::hold_back(std::vector<HomelessFacts>& homeless, core::MonoTime now) {
    std::map<std::pair<std::string, int>, core::MonoTime> since;
    for (auto& [role, partitions] : homeless) {
        for (const auto partition : partitions) {
            const auto known = homeless_since_.find({role, partition});
            since[{role, partition}] = known == homeless_since_.end() ? now : known->second;
        }
        std::erase_if(partitions, [&, &of = role](int partition) {
            return now - since.at({of, partition}) < kHomelessMin;
        });
    }
    homeless_since_ = std::move(since);
}

Installation Overview::facts(OwnershipView& view, const LagPagePtr& lag) {
    auto log_problem = context_.log_problem ? context_.log_problem() : std::string{};
    view.log_answers(log_problem.empty());
    Installation facts{.complete = view.complete(),
                       .standalone = static_cast<bool>(context_.self),
                       .processes = view.processes(context_.history_window),
                       .homeless = view.homeless(),
                       .hot = view.hot(),
                       .log_problem = std::move(log_problem)};
    hold_back(facts.homeless, context_.clock.mono());
    if (lag) {
        facts.groups = groups_of(*lag);
        if (lag->rows.empty() && !lag->problems.empty()) facts.lag_problem = lag->problems.front();
    }
    if (context_.more) context_.more(facts);
    if (facts.dead) facts.dead->of_this_hour = history_.growth(Series::dead);
    return facts;
}

void Overview::tick(OwnershipView& view, const LagPagePtr& lag) {
    const auto now = context_.clock.mono();
    if (now < judge_at_) return;
    judge_at_ = now + kJudgeEvery;
    const bool point_due = now >= point_at_;
    if (point_due && context_.self) view.tell(context_.self());
    const auto known = std::make_shared<const Installation>(facts(view, lag));
    context_.pages.publish("status", status_json(judge(*known)));
    context_.pages.publish("nodes", {.whole = [known] { return nodes_json(*known); }});
    if (!known->complete && !shown_history_) return;
    if (point_due) {
        point_at_ = now + History::kEvery;
        history_.add(point_of(*known, context_.clock.wall()));
        shown_history_ = std::make_shared<const History>(history_);
    }
    publish(known, point_due ? 1 : 0);
}

/// The present state goes with each verdict, so that the tiles never contradict it.
void Overview::publish(const std::shared_ptr<const Installation>& known, std::size_t new_points) {
    if (!shown_history_) return;
    auto now = overview_json(*known, *shown_history_, 0);
    if (new_points == 0 && now == shown_now_) return;
    const bool first = shown_now_.empty();
    shown_now_ = std::move(now);
    LivePages::Source source{.whole = [known, history = shown_history_] {
        return overview_json(*known, *history, History::kPointsMax);
    }};
    if (!first) {
        source.change = [known, history = shown_history_, new_points] {
            return overview_json(*known, *history, new_points);
        };
    }
    context_.pages.publish("overview", std::move(source));
}

}  // namespace beckon::console
