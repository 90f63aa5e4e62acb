// A receiver's answer: the first two bytes are its status, a line is its Retry-After, the rest its
// body, as webhooks, FCM and APNs send them. Every input gives an outcome, a wait with a bound, and
// a reason that can stand in a log line.
#include "fuzz/require.hpp"
#include "retry/attempt/attempt_outcome.hpp"
#include "retry/attempt/bridge/bridge_verdict.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace beckon;
using namespace beckon::retry;
using beckon::test::require;

namespace {

constexpr std::chrono::seconds kWeek{7 * 24 * 3'600};

void check_bridge(const BridgeVerdict& verdict) {
    require(to_string(verdict.outcome) != "unknown");
    require(verdict.not_before >= verdict.not_before.zero() && verdict.not_before <= kWeek);
    require(verdict.why.size() <= 256);
    require(std::all_of(verdict.why.begin(), verdict.why.end(),
                        [](char c) { return c >= 0x20 && c < 0x7f; }));
    // A client ends only for an answer that is about its token.
    if (verdict.outcome == BridgeOutcome::gone) require(!verdict.why.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view rest{reinterpret_cast<const char*>(data) + 2, size - 2};
    const auto line = rest.substr(0, rest.find('\n'));
    HttpAnswer answer;
    answer.end = HttpAnswer::End::answered;
    answer.status = 100 + (data[0] * 256 + data[1]) % 500;
    answer.retry_after = parse_retry_after(line, core::Timestamp{});
    answer.body = rest.substr(std::min(line.size() + 1, rest.size()));
    if (answer.retry_after) {
        require(*answer.retry_after >= std::chrono::seconds{0} && *answer.retry_after <= kWeek);
    }
    const auto verdict = verdict_of(answer);
    require((verdict.outcome == Outcome::delivered) == (answer.status / 100 == 2));
    require(verdict.not_before <= kWeek);
    check_bridge(judge_fcm(answer));
    check_bridge(judge_apns(answer));
    return 0;
}
