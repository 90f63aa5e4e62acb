#pragma once

#include "core/clock.hpp"
#include "retry/attempt/bridge/credentials.hpp"

#include <chrono>
#include <string>

namespace beckon::retry {

/// The token that each request to APNs carries. Apple refuses tokens older than an hour, and
/// clients that renew them more often than every 20 minutes. One thread.
class ProviderToken {
public:
    static constexpr std::chrono::minutes kRenewAfter{45};
    static constexpr std::chrono::minutes kRenewNoSooner{20};

    /// `credentials` outlive it.
    explicit ProviderToken(const ApnsCredentials& credentials) : credentials_(credentials) {}

    /// The token to use now. `now` is the host's wall time, which Apple compares with its own.
    const std::string& at(core::Timestamp now);
    /// Apple refused it: the next one is new, if it may be renewed already.
    void refused() { refused_ = true; }
    std::uint64_t renewals() const { return renewals_; }

private:
    bool is_old(core::Timestamp now) const;

    const ApnsCredentials& credentials_;
    std::string text_;
    core::Timestamp made_{};
    bool refused_ = false;
    std::uint64_t renewals_ = 0;
};

}  // namespace beckon::retry
