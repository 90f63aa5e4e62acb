#include "retry/attempt/attempt_outcome.hpp"

#include <algorithm>
#include <string_view>

namespace beckon::retry {

namespace {

Verdict judge_status(const HttpAnswer& answer) {
    const int status = answer.status;
    if (status >= 200 && status < 300) return {Outcome::delivered, {}};
    if (status == 410) return {Outcome::gone, {}};
    const bool throttled = status == 429 || status == 502 || status == 504;
    if (!throttled && !answer.retry_after) return {Outcome::refused, {}};
    return {Outcome::throttled, answer.retry_after.value_or(kThrottledDefault)};
}

}  // namespace

Verdict verdict_of(const HttpAnswer& answer) {
    switch (answer.end) {
        case HttpAnswer::End::answered: return judge_status(answer);
        case HttpAnswer::End::timed_out: return {Outcome::timed_out, {}};
        case HttpAnswer::End::unreachable: return {Outcome::unreachable, {}};
        case HttpAnswer::End::forbidden: return {Outcome::forbidden, {}};
        case HttpAnswer::End::too_large: return {Outcome::too_large, {}};
        case HttpAnswer::End::not_allowed: return {Outcome::refused, {}};
        case HttpAnswer::End::unsendable: return {Outcome::undeliverable, {}};
    }
    return {Outcome::refused, {}};
}

std::string why_text(const HttpAnswer& answer) {
    if (answer.location.empty() || answer.status < 300 || answer.status >= 400) return answer.why;
    auto text = "it redirects to " + answer.location;
    constexpr std::string_view kAdvice = "; redirects are not followed: give the webhook that URL";
    text.resize(std::min(text.size(), kWhyBytesMax - kAdvice.size()));
    return text.append(kAdvice);
}

bool is_overload(Outcome outcome) {
    return outcome == Outcome::throttled || outcome == Outcome::timed_out ||
           outcome == Outcome::unreachable;
}

}  // namespace beckon::retry
