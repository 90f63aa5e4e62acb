#include "retry/webhook/change_quota.hpp"

#include <algorithm>
#include <cmath>

namespace beckon::retry {

double ChangeQuota::still(const Changed& changed, core::MonoTime now) const {
    const auto passed = std::chrono::duration<double>(now - changed.at).count();
    const auto per_second = static_cast<double>(bytes_max_) / static_cast<double>(kWindow.count());
    return std::max(0.0, changed.bytes - passed * per_second);
}

/// A change that alone takes more than the quota is made when all is refilled.
std::optional<std::chrono::seconds> ChangeQuota::take(const std::string& owner, std::size_t bytes,
                                                      core::MonoTime now) {
    auto& changed = changed_[owner];
    const auto before = still(changed, now);
    const auto most = static_cast<double>(bytes_max_);
    const auto over = before + static_cast<double>(bytes) - most;
    if (before > 0 && over > 0) {
        const auto seconds = std::min(over, before) * static_cast<double>(kWindow.count()) / most;
        return std::chrono::seconds{std::max<long>(1, std::lround(std::ceil(seconds)))};
    }
    changed = {.bytes = before + static_cast<double>(bytes), .at = now};
    if (changed_.size() >= sweep_at_) {
        std::erase_if(changed_, [&](const auto& one) { return still(one.second, now) <= 0; });
        sweep_at_ = std::max(kOwnersMax, 2 * changed_.size());
    }
    return std::nullopt;
}

}  // namespace beckon::retry
