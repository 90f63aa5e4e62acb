#include "ops/health.hpp"

#include <utility>

namespace beckon::ops {

void Health::set_ready(std::string_view part, bool ready, std::string_view why) {
    const std::scoped_lock lock{mutex_};
    parts_[std::string{part}] = ready ? "" : (why.empty() ? "not ready" : std::string{why});
}

void Health::set_dead(std::string_view part, std::string_view why) {
    const std::scoped_lock lock{mutex_};
    dead_.erase(std::string{part});
    if (!why.empty()) dead_.emplace(part, why);
}

void Health::watch(const std::string& part, std::function<std::string()> why_dead) {
    const std::scoped_lock lock{mutex_};
    watched_.erase(part);
    if (why_dead) watched_.emplace(part, std::move(why_dead));
}

void Health::set_warning(std::string_view what, std::string_view why) {
    const std::scoped_lock lock{mutex_};
    warnings_.erase(std::string{what});
    if (!why.empty()) warnings_.emplace(what, why);
}

Health::Report Health::report() const {
    const std::scoped_lock lock{mutex_};
    Report report;
    for (const auto& [part, why] : parts_) {
        report.parts[part] = why;
        if (!why.empty()) report.faults[part] = why;
    }
    report.warnings = {warnings_.begin(), warnings_.end()};
    report.live = dead_.empty();
    for (const auto& [part, why] : dead_) report.faults[part] = why;
    for (const auto& [part, why_dead] : watched_) {
        auto why = why_dead();
        if (why.empty()) continue;
        report.live = false;
        report.faults[part] = std::move(why);
    }
    report.ready = report.faults.empty();
    return report;
}

std::string Health::fault(std::string_view part) const {
    const std::scoped_lock lock{mutex_};
    const auto found = parts_.find(part);
    return found == parts_.end() ? std::string{} : found->second;
}

}  // namespace beckon::ops
