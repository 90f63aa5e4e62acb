#pragma once

#include "retry/attempt/http_sender.hpp"
#include "retry/tiers/delivery.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace beckon::retry {

/// What an answer means for the delivery. Exhaustive; pure.
///
/// 2xx: delivered. 410: gone, the webhook is disabled. 429, 502, 504, and any other failure that
/// carries Retry-After: throttled, the next attempt comes no sooner than asked for (429, 502 and
/// 504 without it: a minute). Any other status, 3xx included: refused.
struct Verdict {
    Outcome outcome = Outcome::delivered;
    std::chrono::seconds not_before{};  ///< from now
    bool operator==(const Verdict&) const = default;
};

inline constexpr std::chrono::seconds kThrottledLeast{60};

Verdict verdict_of(const HttpAnswer& answer);

inline constexpr std::size_t kWhyBytesMax = 256;

/// For whoever runs the webhook: what went wrong, beyond what outcome and status say; of a redirect
/// where it leads to. At most kWhyBytesMax.
std::string why_text(const HttpAnswer& answer);

/// Whether the receiver needs to be asked less often: it is slow, throttles, or is not there.
bool is_overload(Outcome outcome);

}  // namespace beckon::retry
