#include "edge/home/registration/token_buckets.hpp"

#include <algorithm>

namespace beckon::edge {

namespace {

/// It checks every name.
constexpr core::Duration kSweepEvery = std::chrono::seconds{10};

}  // namespace

bool TokenBuckets::take(std::string_view name, core::MonoTime now) {
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

}  // namespace beckon::edge
