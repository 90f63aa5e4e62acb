#pragma once

#include "records/delivery.hpp"
#include "retry/attempt/http_request.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace beckon::retry {

/// The outcome of an attempt, from the receiver's answer. Exhaustive; pure.
///
/// 2xx: delivered. 410: gone, the webhook is disabled. 429, 502, 504, and any other failure that
/// carries Retry-After: throttled, the next attempt comes no sooner than the receiver asked (429,
/// 502 and 504 without Retry-After: a minute). Any other status, 3xx included: refused.
struct Verdict {
    Outcome outcome = Outcome::delivered;
    std::chrono::seconds not_before{};  ///< from now
    bool operator==(const Verdict&) const = default;
};

inline constexpr std::chrono::seconds kThrottledDefault{60};

Verdict verdict_of(const HttpAnswer& answer);

inline constexpr std::size_t kWhyBytesMax = 256;

/// For the webhook's owner: the fault, beyond outcome and status; of a redirect its target. At most
/// kWhyBytesMax.
std::string why_text(const HttpAnswer& answer);

/// True if the receiver needs fewer attempts: it is slow, throttles, or cannot be reached.
bool is_overload(Outcome outcome);

}  // namespace beckon::retry
