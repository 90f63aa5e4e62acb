#include "retry/home/tiers/tier_table.hpp"

#include "core/assert.hpp"
#include "log/topic.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace beckon::retry {

using core::Fault;
using std::chrono::seconds;

namespace {

std::string step_text_of(const std::vector<seconds>& delays) {
    std::string text;
    for (const auto delay : delays) {
        text += (text.empty() ? "" : " ") + std::to_string(delay.count()) + "s";
    }
    return text;
}

/// The fault of a table; empty if it has none.
std::string fault_of(const std::vector<seconds>& delays) {
    if (delays.empty()) return "it has no delay";
    if (delays.size() > log::Topic::kTiersMax) {
        return "it has " + std::to_string(delays.size()) + " delays, at most " +
               std::to_string(log::Topic::kTiersMax) + " are possible";
    }
    if (delays.front() != seconds{0}) return "its first delay is not 0";
    for (std::size_t i = 1; i < delays.size(); ++i) {
        if (delays[i] < delays[i - 1]) {
            return "delay " + std::to_string(i) + " is shorter than the one before it";
        }
    }
    if (delays.back() > TierTable::kDelayMax) {
        return "its longest delay is above " + std::to_string(TierTable::kDelayMax.count()) + "s";
    }
    return "";
}

}  // namespace

core::Result<TierTable> TierTable::from(std::vector<seconds> delays) {
    if (const auto why = fault_of(delays); !why.empty()) {
        return core::fail(Fault::invalid, "the tier table `" + step_text_of(delays) + "`: " + why);
    }
    return TierTable{std::move(delays)};
}

TierTable::TierTable(std::vector<seconds> delays) : delays_(std::move(delays)) {
    for (int step = 0; step < steps(); ++step) {
        if (tier_of(step) == step) tiers_.push_back(step);
    }
}

seconds TierTable::delay(int step) const {
    BECKON_ASSERT(step >= 0 && step < steps(), "the step is in the table");
    return delays_[static_cast<std::size_t>(step)];
}

int TierTable::tier_of(int step) const {
    const auto first = std::find(delays_.begin(), delays_.end(), delay(step));
    return static_cast<int>(first - delays_.begin());
}

std::optional<int> TierTable::next(int step, seconds at_least) const {
    for (int later = step + 1; later < steps(); ++later) {
        if (delay(later) >= at_least || later == steps() - 1) return later;
    }
    return std::nullopt;
}

seconds TierTable::total() const {
    return std::accumulate(delays_.begin(), delays_.end(), seconds{0});
}

std::string TierTable::text() const { return step_text_of(delays_); }

}  // namespace beckon::retry
