#include "sim/retry/sim_receivers.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;
using retry::HttpAnswer;

namespace {

constexpr core::Duration kWayMost = 10ms;
constexpr core::Duration kSlowMost = 3s;

std::string header_in(const retry::HttpRequest& request, std::string_view name) {
    for (const auto& header : request.headers) {
        if (header.starts_with(name)) return header.substr(name.size());
    }
    return "";
}

/// `http://<host>/`
std::string host_in(std::string_view url) {
    url.remove_prefix(std::min(url.size(), url.find("//") + 2));
    return std::string{url.substr(0, url.find('/'))};
}

HttpAnswer status(int code) {
    HttpAnswer answer;
    answer.end = HttpAnswer::End::answered;
    answer.status = code;
    return answer;
}

HttpAnswer no_answer(HttpAnswer::End end) {
    HttpAnswer answer;
    answer.end = end;
    return answer;
}

}  // namespace

std::string_view to_string(Mood mood) {
    constexpr std::array<std::string_view, kMoods> kNames = {
        "accepts", "slow", "refuses", "throttles", "hangs", "breaks", "down", "gone"};
    return kNames[static_cast<std::size_t>(mood)];
}

Mood SimReceivers::mood_of(const std::string& receiver) const {
    const auto found = moods_.find(receiver);
    return found == moods_.end() ? Mood::accepts : found->second;
}

core::Duration SimReceivers::up_to(core::Duration most) {
    return core::Duration{static_cast<core::Duration::rep>(
        random_() % (static_cast<std::uint64_t>(most.count()) + 1))};
}

void SimReceivers::send(const core::NodeId& by, const retry::HttpRequest& request, Answer done) {
    Exchange exchange{.attempt = {.by = by,
                                  .receiver = host_in(request.url),
                                  .delivery = header_in(request, "webhook-id: "),
                                  .made = static_cast<std::uint32_t>(
                                      std::stoul("0" + header_in(request, "Beckon-Attempt: "))),
                                  .body = request.body},
                      .began = clock_.mono(),
                      .timeout = request.timeout,
                      .done = std::move(done)};
    events_.began(exchange.attempt);
    executor_.post_after(up_to(kWayMost), [this, exchange] { arrive(exchange); });
}

void SimReceivers::arrive(const Exchange& exchange) {
    switch (mood_of(exchange.attempt.receiver)) {
        case Mood::accepts:
            events_.took(exchange.attempt);
            return answer(exchange, {}, status(204));
        case Mood::slow:
            events_.took(exchange.attempt);
            return answer(exchange, up_to(kSlowMost), status(204));
        case Mood::refuses: return answer(exchange, {}, status(500));
        case Mood::throttles: {
            auto refusal = status(429);
            if (random_() % 2 == 0) refusal.retry_after = 5s;
            return answer(exchange, {}, std::move(refusal));
        }
        case Mood::hangs: return answer(exchange, exchange.timeout, status(204));
        case Mood::breaks:
            events_.took(exchange.attempt);
            return answer(exchange, {}, no_answer(HttpAnswer::End::unreachable));
        case Mood::down: return answer(exchange, {}, no_answer(HttpAnswer::End::unreachable));
        case Mood::gone: return answer(exchange, {}, status(410));
    }
}

/// The process waits for its time-out and no longer.
void SimReceivers::answer(const Exchange& exchange, core::Duration after, HttpAnswer answer) {
    const auto deadline = exchange.began + exchange.timeout;
    auto at = clock_.mono() + after + up_to(kWayMost);
    if (at >= deadline) {
        at = deadline;
        answer = no_answer(HttpAnswer::End::timed_out);
    }
    answer.took = at - exchange.began;
    executor_.post_after(at - clock_.mono(), [this, exchange, answer] {
        events_.answered(exchange.attempt, answer);
        exchange.done(answer);
    });
}

}  // namespace beckon::sim
