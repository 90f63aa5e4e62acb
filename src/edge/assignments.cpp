#include "edge/assignments.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::edge {

namespace {

/// "partitions 1 (restoring), 4 (standby) and 12 more"
std::string describe(const std::vector<std::pair<core::Partition, std::string_view>>& missing) {
    std::string text = missing.size() == 1 ? "partition " : "partitions ";
    for (std::size_t i = 0; i < std::min(missing.size(), Assignments::kNamedMax); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(missing[i].first) + " (" + std::string{missing[i].second} + ")";
    }
    if (missing.size() > Assignments::kNamedMax) {
        text += " and " + std::to_string(missing.size() - Assignments::kNamedMax) + " more";
    }
    return text + " not served yet";
}

bool serves_or_could(const HomeShard::Report& report) {
    return report.state == Home::State::serving ||
           (report.state == Home::State::standby && !report.behind);
}

}  // namespace

void Assignments::placed(core::Partition partition, Assignment assignment) {
    placed_[partition] = assignment;
}

Assignment Assignments::of(core::Partition partition) const {
    const auto at = placed_.find(partition);
    return at == placed_.end() ? Assignment::none : at->second;
}

void Assignments::reported(const std::function<bool(core::Partition)>& theirs,
                           std::map<core::Partition, HomeShard::Report> now) {
    std::erase_if(reports_, [&](const auto& entry) { return theirs(entry.first); });
    reports_.merge(now);
}

std::set<core::Partition> Assignments::served() const {
    std::set<core::Partition> out;
    for (const auto& [partition, report] : reports_) {
        if (report.state == Home::State::serving) out.insert(partition);
    }
    return out;
}

std::set<core::Partition> Assignments::ready() const {
    std::set<core::Partition> out;
    for (const auto& [partition, report] : reports_) {
        if (placed_.contains(partition) && serves_or_could(report)) out.insert(partition);
    }
    return out;
}

bool Assignments::any_home() const {
    return std::any_of(placed_.begin(), placed_.end(),
                       [](const auto& entry) { return entry.second == Assignment::home; });
}

std::string Assignments::why_unready(bool settled) const {
    for (const auto& [partition, report] : reports_) {
        if (!report.stuck) continue;
        return "partition " + std::to_string(partition) + " is stuck: " + *report.stuck;
    }
    const bool any = std::any_of(placed_.begin(), placed_.end(), [](const auto& entry) {
        return entry.second != Assignment::none;
    });
    const bool all_placed = placed_.size() >= static_cast<std::size_t>(partitions_);
    if (!all_placed || (!any && !settled)) return "waiting for the placement of partitions";
    return unserved();
}

std::string Assignments::unserved() const {
    std::vector<std::pair<core::Partition, std::string_view>> missing;
    for (const auto& [partition, assignment] : placed_) {
        const auto at = reports_.find(partition);
        const auto state = at == reports_.end() ? Home::State::starting : at->second.state;
        if (assignment == Assignment::home && state != Home::State::serving) {
            missing.emplace_back(partition, to_string(state));
        }
    }
    return missing.empty() ? std::string{} : describe(missing);
}

std::string ranges(const std::set<core::Partition>& partitions) {
    std::string text;
    for (auto first = partitions.begin(); first != partitions.end();) {
        auto last = first;
        auto next = std::next(first);
        for (; next != partitions.end() && *next == *last + 1; ++next) last = next;
        if (!text.empty()) text += ", ";
        text += std::to_string(*first);
        if (last != first) text += "-" + std::to_string(*last);
        first = next;
    }
    return text.empty() ? "none" : text;
}

}  // namespace beckon::edge
