#include "log/topic.hpp"

#include "core/assert.hpp"

#include <array>
#include <charconv>

namespace beckon::log {

namespace {

constexpr std::array<std::string_view, Topic::kFixed> kNames = {
    "notifications",     "subscriptions", "ownership", "broadcasts",  "retry.dead",
    "retry.done",        "events",        "webhooks",  "reliability", "control",
    "reliability.totals"};
constexpr std::string_view kTierPrefix = "retry.";

}  // namespace

Topic Topic::retry(int tier) {
    BECKON_ASSERT(tier >= 0 && tier < kTiersMax, "a tier is below Topic::kTiersMax");
    return Topic{kFixed + tier};
}

Topic Topic::from_index(int index) {
    BECKON_ASSERT(index >= 0 && index < kCount, "not a topic index");
    return Topic{index};
}

std::optional<Topic> Topic::parse(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (kNames[i] == name) return Topic{static_cast<int>(i)};
    }
    if (!name.starts_with(kTierPrefix)) return std::nullopt;
    const auto digits = name.substr(kTierPrefix.size());
    int tier = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), tier);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    if (tier < 0 || tier >= kTiersMax) return std::nullopt;
    return Topic::retry(tier);
}

std::string Topic::name() const {
    if (index_ < kFixed) return std::string{kNames[index_]};
    return std::string{kTierPrefix} + std::to_string(index_ - kFixed);
}

}  // namespace beckon::log
