#pragma once

#include "core/clock.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace beckon::retry {

/// The rate at which an owner may change its webhooks. A change costs the memory of the webhook:
/// its filter is compiled and indexed on threads that serve all owners, in time that grows with
/// that memory. An owner that has changed nothing for kWindow may change `bytes_max` at once. One
/// thread.
class ChangeQuota {
public:
    static constexpr std::chrono::seconds kWindow{60};
    static constexpr std::size_t kOwnersMax = 1'024;  ///< remembered although all is refilled

    explicit ChangeQuota(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    /// nullopt: the change may be made, and counts. Otherwise how long until it may, at least 1 s.
    std::optional<std::chrono::seconds> take(const std::string& owner, std::size_t bytes,
                                             core::MonoTime now);
    /// The number of remembered owners.
    std::size_t size() const { return changed_.size(); }

private:
    struct Changed {
        double bytes = 0;
        core::MonoTime at{};
    };
    /// The part that is not refilled yet.
    double still(const Changed& changed, core::MonoTime now) const;

    const std::size_t bytes_max_;
    std::map<std::string, Changed> changed_;
    std::size_t sweep_at_ = kOwnersMax;
};

}  // namespace beckon::retry
