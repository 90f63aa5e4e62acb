#include "retry/tiers/tier_table.hpp"

#include "core/assert.hpp"
#include "log/topic.hpp"

#include <algorithm>
#include <charconv>
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

std::optional<seconds> unit_of(std::string_view text) {
    if (text.empty() || text == "s") return seconds{1};
    if (text == "m") return seconds{60};
    if (text == "h") return seconds{3600};
    if (text == "d") return seconds{86'400};
    return std::nullopt;
}

std::optional<seconds> parse_delay(std::string_view word) {
    constexpr std::int64_t kCountMax = 1'000'000;
    std::int64_t count = 0;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (fault != std::errc{} || count < 0 || count > kCountMax) return std::nullopt;
    const auto unit = unit_of(word.substr(static_cast<std::size_t>(end - word.data())));
    if (!unit) return std::nullopt;
    return count * *unit;
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

core::Result<std::vector<seconds>> parse_delays(std::string_view text) {
    constexpr std::string_view kBetween = " ,\t";
    std::vector<seconds> delays;
    while (true) {
        const auto begin = text.find_first_not_of(kBetween);
        if (begin == std::string_view::npos) return delays;
        text.remove_prefix(begin);
        const auto word = text.substr(0, text.find_first_of(kBetween));
        const auto delay = parse_delay(word);
        if (!delay) {
            return core::fail(Fault::invalid,
                              "`" + std::string{word} + "` is no delay: a number and s, m, h or d");
        }
        delays.push_back(*delay);
        text.remove_prefix(word.size());
    }
}

}  // namespace beckon::retry
