#include "fold/progress.hpp"

#include "core/logger.hpp"

#include <algorithm>

namespace beckon::fold {

std::string_view to_string(Need need) {
    switch (need) {
        case Need::log_time: return "the log's time";
        case Need::ends: return "the log's ends";
        case Need::read: return "reading the log";
        case Need::barrier: return "a read barrier";
        case Need::clear: return "clearing the state";
        case Need::commit: return "committing the state";
    }
    return "";
}

void Failures::failed(Need need, InputIndex input, const core::Error& why) {
    const auto [at, first] = failures_.try_emplace({need, input});
    if (first) {
        at->second.since = clock_.mono();
        at->second.since_wall = clock_.wall();
    }
    at->second.why = why;
}

bool Failures::lasts(const Failure& failure) const {
    return !failure.why.retryable() || clock_.mono() - failure.since >= kStuckAfter;
}

bool Failures::update() {
    const auto worst = std::find_if(failures_.begin(), failures_.end(),
                                    [this](const auto& entry) { return lasts(entry.second); });
    if (worst == failures_.end()) {
        if (!stuck_) return false;
        stuck_.reset();
        core::log_info(folder_, "fold_goes_on", {{"fold", name_}});
        return true;
    }
    if (stuck_) return false;
    const auto& [what, failure] = *worst;
    stuck_ = Stuck{failure.since_wall, std::string{to_string(what.first)} +
                                           " fails: " + std::string{to_string(failure.why.fault)} +
                                           ": " + failure.why.message};
    core::log_error(folder_, "fold_stuck", {{"fold", name_}, {"why", stuck_->why}});
    return true;
}

}  // namespace beckon::fold
