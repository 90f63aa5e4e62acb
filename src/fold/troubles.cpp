#include "fold/troubles.hpp"

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

void Troubles::failed(Need need, InputIndex input, const core::Error& why) {
    const auto [at, first] = troubles_.try_emplace({need, input});
    if (first) {
        at->second.since = clock_.mono();
        at->second.since_wall = clock_.wall();
    }
    at->second.why = why;
}

void Troubles::worked(Need need, InputIndex input) { troubles_.erase({need, input}); }

void Troubles::forget() { troubles_.clear(); }

bool Troubles::lasts(const Trouble& trouble) const {
    return !trouble.why.retryable() || clock_.mono() - trouble.since >= kStuckAfter;
}

bool Troubles::look() {
    const auto worst = std::find_if(troubles_.begin(), troubles_.end(),
                                    [this](const auto& entry) { return lasts(entry.second); });
    if (worst == troubles_.end()) {
        if (!stuck_) return false;
        stuck_.reset();
        core::log_info(folder_, "fold_goes_on", {{"fold", name_}});
        return true;
    }
    if (stuck_) return false;
    const auto& [what, trouble] = *worst;
    stuck_ = Stuck{trouble.since_wall, std::string{to_string(what.first)} +
                                           " fails: " + std::string{to_string(trouble.why.fault)} +
                                           ": " + trouble.why.message};
    core::log_error(folder_, "fold_stuck", {{"fold", name_}, {"why", stuck_->why}});
    return true;
}

}  // namespace beckon::fold
