#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// The processor time that each owner has used of late, and which of them use most: those who use
/// least fit into a part of a thread together, and the others are beyond it. So nobody is beyond it
/// who uses less than somebody within, and what those within use is bounded.
///
/// Use decays by the factor e each second, so an owner that uses a tenth of each second holds
/// 100 ms. The limit follows the use by at most kFollows. Owners that hold less than kForgotten are
/// forgotten: of a thread's time, at most 10,000 hold more. Pure; one thread.
class FairTime {
public:
    static constexpr core::Duration kPart = std::chrono::milliseconds{100};  ///< of each second
    static constexpr core::Duration kFollows = std::chrono::milliseconds{100};
    static constexpr core::Duration kForgotten = std::chrono::microseconds{100};

    explicit FairTime(core::Duration part = kPart) : part_(seconds(part)), limit_(part_) {}

    void spend(const std::string& owner, core::Duration time, core::MonoTime now) {
        auto& use = uses_[owner];
        use = {.seconds = still(use, now) + seconds(time), .at = now};
    }
    /// Whether the owner is among those who use most and do not fit.
    bool is_beyond_part(std::string_view owner, core::MonoTime now) {
        if (now - divided_at_ >= kFollows) divide(now);
        const auto found = uses_.find(owner);
        return found != uses_.end() && still(found->second, now) >= limit_;
    }
    /// The number of remembered owners.
    std::size_t size() const { return uses_.size(); }

private:
    struct Use {
        double seconds = 0;
        core::MonoTime at{};
    };
    static double seconds(core::Duration time) {
        return std::chrono::duration<double>{time}.count();
    }
    static double still(const Use& use, core::MonoTime now) {
        return use.seconds * std::exp(-seconds(now - use.at));
    }
    /// The limit lies between the largest use that fits and the next one.
    void divide(core::MonoTime now) {
        divided_at_ = now;
        std::erase_if(
            uses_, [&](const auto& one) { return still(one.second, now) < seconds(kForgotten); });
        std::vector<double> held;
        held.reserve(uses_.size());
        for (const auto& [owner, use] : uses_) held.push_back(still(use, now));
        std::sort(held.begin(), held.end());
        limit_ = part_;
        double sum = 0;
        double less = 0;  // what the one before holds
        for (const auto use : held) {
            sum += use;
            if (sum > part_) {
                limit_ = (less + use) / 2;
                return;
            }
            less = use;
        }
    }

    std::map<std::string, Use, std::less<>> uses_;
    const double part_;
    double limit_;  ///< of an owner within, in seconds
    core::MonoTime divided_at_{};
};

}  // namespace beckon::retry
