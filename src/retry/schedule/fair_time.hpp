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

/// The processor time that each owner has used of late, and its fair share of a part of a thread:
/// max-min, so that nobody's share is smaller than another's unless it uses less. As long as all
/// together use less than that part, an owner may use all of it.
///
/// Use decays by the factor e each second, so an owner that uses a tenth of each second holds
/// 100 ms. The shares follow the use by at most kFollows. Owners that hold less than kForgotten are
/// forgotten: of a thread's time, at most 10,000 hold more. Pure; one thread.
class FairTime {
public:
    static constexpr core::Duration kPart = std::chrono::milliseconds{250};  ///< of each second
    static constexpr core::Duration kFollows = std::chrono::milliseconds{100};
    static constexpr core::Duration kForgotten = std::chrono::microseconds{100};

    explicit FairTime(core::Duration part = kPart) : part_(seconds(part)), share_(part_) {}

    void spend(const std::string& owner, core::Duration time, core::MonoTime now) {
        auto& use = uses_[owner];
        use = {.seconds = still(use, now) + seconds(time), .at = now};
    }
    /// Whether the owner holds more than its share.
    bool is_above_share(std::string_view owner, core::MonoTime now) {
        if (now - shared_at_ >= kFollows) divide(now);
        const auto found = uses_.find(owner);
        return found != uses_.end() && still(found->second, now) > share_;
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
    /// Those who use least have what they use; the others share the rest alike.
    void divide(core::MonoTime now) {
        shared_at_ = now;
        std::erase_if(
            uses_, [&](const auto& one) { return still(one.second, now) < seconds(kForgotten); });
        std::vector<double> held;
        held.reserve(uses_.size());
        for (const auto& [owner, use] : uses_) held.push_back(still(use, now));
        std::sort(held.begin(), held.end());
        share_ = part_;
        auto left = share_;
        for (std::size_t i = 0; i < held.size(); ++i) {
            const auto alike = left / static_cast<double>(held.size() - i);
            if (held[i] > alike) {
                share_ = alike;
                return;
            }
            left -= held[i];
        }
    }

    std::map<std::string, Use, std::less<>> uses_;
    const double part_;
    double share_;  ///< of an owner that uses more, in seconds
    core::MonoTime shared_at_{};
};

}  // namespace beckon::retry
