#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace beckon::retry {

/// Bounds the rate at which an owner changes its webhooks, which no OwnerBudget sees: a change is
/// folded on each thread for deliveries, outside of its owner's turns there. It costs the memory of
/// the webhook, since its filter is compiled and indexed in time that grows with that. An owner
/// that has changed nothing for kWindow may change `bytes_max` at once. One thread.
class ChangeQuota {
public:
    static constexpr std::chrono::seconds kWindow{60};
    static constexpr std::size_t kOwnersMax = 1'024;  ///< remembered although all is refilled

    explicit ChangeQuota(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    /// nullopt: the change may be made, and counts. Otherwise how long until it may, at least 1 s.
    /// A change that alone takes more than the quota is made when all is refilled.
    std::optional<std::chrono::seconds> take(const std::string& owner, std::size_t bytes,
                                             core::MonoTime now) {
        auto& changed = changed_[owner];
        const auto before = still(changed, now);
        const auto most = static_cast<double>(bytes_max_);
        const auto over = before + static_cast<double>(bytes) - most;
        if (before > 0 && over > 0) {
            const auto seconds =
                std::min(over, before) * static_cast<double>(kWindow.count()) / most;
            return std::chrono::seconds{std::max<long>(1, std::lround(std::ceil(seconds)))};
        }
        changed = {.bytes = before + static_cast<double>(bytes), .at = now};
        if (changed_.size() >= sweep_at_) {
            std::erase_if(changed_, [&](const auto& one) { return still(one.second, now) <= 0; });
            sweep_at_ = std::max(kOwnersMax, 2 * changed_.size());
        }
        return std::nullopt;
    }
    /// The number of remembered owners.
    std::size_t size() const { return changed_.size(); }

private:
    struct Changed {
        double bytes = 0;
        core::MonoTime at{};
    };
    /// The part that is not refilled yet.
    double still(const Changed& changed, core::MonoTime now) const {
        const auto passed = std::chrono::duration<double>(now - changed.at).count();
        const auto per_second =
            static_cast<double>(bytes_max_) / static_cast<double>(kWindow.count());
        return std::max(0.0, changed.bytes - passed * per_second);
    }

    const std::size_t bytes_max_;
    std::map<std::string, Changed> changed_;
    std::size_t sweep_at_ = kOwnersMax;
};

}  // namespace beckon::retry
