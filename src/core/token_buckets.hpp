#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>

namespace beckon::core {

/// How often something may happen: `at_once` times together, and once more each time that `each`
/// has passed.
struct TokenRate {
    std::size_t at_once = 1;
    Duration each{};
};

/// Token buckets by name. Bounded in names: full buckets are forgotten, and where there are too
/// many others, new names share one bucket. One thread.
template <class Name>
class TokenBuckets {
public:
    static constexpr std::size_t kNamesMax = 65'536;
    /// From one search for full buckets to the next; it reads all names.
    static constexpr Duration kSweepEvery = std::chrono::seconds{1};

    explicit TokenBuckets(const TokenRate& rate, std::size_t names_max = kNamesMax)
        : each_(rate.each),
          most_(rate.each * static_cast<Duration::rep>(rate.at_once)),
          names_max_(names_max) {}

    /// How long until there are so many tokens, or a full bucket; nullopt: there are.
    template <class N>
    std::optional<Duration> wait(const N& name, MonoTime now, std::size_t tokens = 1) const {
        auto found = full_at_.find(name);
        if (found == full_at_.end() && full_at_.size() >= names_max_) found = full_at_.find(Name{});
        if (found == full_at_.end()) return std::nullopt;
        const auto late = found->second + cost(tokens) - now - most_;
        return late > Duration::zero() ? std::optional{late} : std::nullopt;
    }
    /// Takes so many tokens, or what there is.
    template <class N>
    void take(const N& name, MonoTime now, std::size_t tokens = 1) {
        auto found = full_at_.find(name);
        if (found == full_at_.end()) {
            if (full_at_.size() >= names_max_ && now - swept_ >= kSweepEvery) {
                swept_ = now;
                std::erase_if(full_at_, [now](const auto& one) { return one.second <= now; });
            }
            const bool crowded = full_at_.size() >= names_max_;
            found = full_at_.try_emplace(crowded ? Name{} : Name{name}, now).first;
        }
        found->second = std::min(std::max(found->second, now) + cost(tokens), now + most_);
    }
    /// Takes a token; false: there is none.
    template <class N>
    bool try_take(const N& name, MonoTime now) {
        if (wait(name, now)) return false;
        take(name, now);
        return true;
    }
    std::size_t names() const { return full_at_.size(); }

private:
    Duration cost(std::size_t tokens) const {
        return std::min(each_ * static_cast<Duration::rep>(tokens), most_);
    }

    const Duration each_;
    const Duration most_;  ///< from an empty bucket to a full one
    const std::size_t names_max_;
    /// When the bucket of a name will be full: that is the more ahead the more has been taken.
    std::map<Name, MonoTime, std::less<>> full_at_;
    MonoTime swept_{};
};

}  // namespace beckon::core
