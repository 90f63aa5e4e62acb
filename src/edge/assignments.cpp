#include "edge/assignments.hpp"

#include "fold/restored.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::edge {

namespace {

using Described = std::vector<std::pair<core::Partition, std::string_view>>;

/// "partitions 1 (restoring), 4 (standby) and 12 more"
std::string describe(const Described& partitions) {
    std::string text = partitions.size() == 1 ? "partition " : "partitions ";
    for (std::size_t i = 0; i < std::min(partitions.size(), Assignments::kNamedMax); ++i) {
        if (i > 0) text += ", ";
        text +=
            std::to_string(partitions[i].first) + " (" + std::string{partitions[i].second} + ")";
    }
    if (partitions.size() > Assignments::kNamedMax) {
        text += " and " + std::to_string(partitions.size() - Assignments::kNamedMax) + " more";
    }
    return text;
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

std::string Assignments::why_unready(bool placement_is_current) const {
    for (const auto& [partition, report] : reports_) {
        if (!report.stuck) continue;
        return "partition " + std::to_string(partition) + " is stuck: " + *report.stuck;
    }
    const bool any = std::any_of(placed_.begin(), placed_.end(), [](const auto& entry) {
        return entry.second != Assignment::none;
    });
    const bool all_placed = placed_.size() >= static_cast<std::size_t>(partitions_);
    if (!all_placed || (!any && !placement_is_current))
        return "waiting for the placement of partitions";
    auto why = unserved();
    return why.empty() ? served_late() : why;
}

std::string Assignments::unserved() const {
    Described missing;
    std::optional<fold::Restored> restored;
    for (const auto& [partition, assignment] : placed_) {
        const auto at = reports_.find(partition);
        const auto state = at == reports_.end() ? Home::State::starting : at->second.state;
        if (assignment != Assignment::home || state == Home::State::serving) continue;
        missing.emplace_back(partition, to_string(state));
        if (at != reports_.end()) restored += at->second.restored;
    }
    if (missing.empty()) return {};
    return describe(missing) + " not served yet" +
           (restored ? ": " + fold::to_string(*restored) : std::string{});
}

std::string Assignments::served_late() const {
    Described late;
    for (const auto& [partition, report] : reports_) {
        if (report.state == Home::State::serving && report.behind) {
            late.emplace_back(partition, "behind");
        }
    }
    if (late.empty()) return {};
    return describe(late) + " served late: more comes than this node folds";
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
