#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace beckon::edge {

/// Token buckets by name: each name may do something so often at once, and once more each time that
/// `each` has passed. Bounded in names: those whose bucket is full again are forgotten, and where
/// there are too many others, a new name may do nothing. One thread.
class TokenBuckets {
public:
    static constexpr std::size_t kNamesMax = 65'536;
    static constexpr core::Duration kSweepEvery = std::chrono::seconds{10};  ///< of all names

    struct Options {
        std::size_t at_once = 1;
        core::Duration each{};
    };
    explicit TokenBuckets(Options options) : options_(options) {}

    /// False: it may not now.
    bool take(std::string_view name, core::MonoTime now) {
        auto found = full_at_.find(name);
        if (found == full_at_.end()) {
            if (now - swept_ >= kSweepEvery) {
                swept_ = now;
                std::erase_if(full_at_, [now](const auto& one) { return one.second <= now; });
            }
            if (full_at_.size() >= kNamesMax) return false;
            found = full_at_.emplace(name, now).first;
        }
        const auto after = std::max(found->second, now) + options_.each;
        if (after - now > options_.each * options_.at_once) return false;
        found->second = after;
        return true;
    }
    std::size_t names() const { return full_at_.size(); }

private:
    const Options options_;
    /// When the bucket of a name will be full: that is the more ahead the more has been taken.
    std::map<std::string, core::MonoTime, std::less<>> full_at_;
    core::MonoTime swept_{};
};

}  // namespace beckon::edge
