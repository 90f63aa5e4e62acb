#include "retry/attempt/attempt_outcome.hpp"

namespace beckon::retry {

namespace {

Verdict judge_status(const HttpAnswer& answer) {
    const int status = answer.status;
    if (status >= 200 && status < 300) return {Outcome::delivered, {}};
    if (status == 410) return {Outcome::gone, {}};
    const bool throttled = status == 429 || status == 502 || status == 504;
    if (!throttled && !answer.retry_after) return {Outcome::refused, {}};
    return {Outcome::throttled, answer.retry_after.value_or(kThrottledLeast)};
}

}  // namespace

Verdict verdict_of(const HttpAnswer& answer) {
    switch (answer.end) {
        case HttpAnswer::End::answered: return judge_status(answer);
        case HttpAnswer::End::timed_out: return {Outcome::timed_out, {}};
        case HttpAnswer::End::unreachable: return {Outcome::unreachable, {}};
        case HttpAnswer::End::forbidden: return {Outcome::forbidden, {}};
        case HttpAnswer::End::too_large: return {Outcome::too_large, {}};
    }
    return {Outcome::refused, {}};
}

bool is_overload(Outcome outcome) {
    switch (outcome) {
        case Outcome::throttled:
        case Outcome::timed_out:
        case Outcome::unreachable: return true;
        case Outcome::delivered:
        case Outcome::gone:
        case Outcome::refused:
        case Outcome::forbidden:
        case Outcome::too_large:
        case Outcome::undeliverable:
        case Outcome::expired: return false;
    }
    return false;
}

}  // namespace beckon::retry
