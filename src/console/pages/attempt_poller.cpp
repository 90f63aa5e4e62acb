#include "console/pages/attempt_poller.hpp"

#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/pause.hpp"
#include "core/percent.hpp"
#include "core/whole_number.hpp"

#include <utility>

#include <nlohmann/json.hpp>
#include <pthread.h>

namespace beckon::console {

namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kTimeout{2'000};

template <class Value>
Value whole_member(const Json& json, const char* name) {
    const auto* found = core::find_member(json, name);
    return found ? core::find_whole_number<Value>(*found).value_or(Value{}) : Value{};
}

AttemptSummary summary_of(const Json& json) {
    AttemptSummary out;
    out.attempts = whole_member<std::uint64_t>(json, "attempts");
    out.delivered = whole_member<std::uint64_t>(json, "delivered");
    const auto* last = core::find_object(json, "last");
    if (!last) return out;
    out.at = core::text_member(*last, "at");
    out.outcome = core::text_member(*last, "outcome");
    out.status = whole_member<std::int64_t>(*last, "status");
    out.why = core::text_member(*last, "why");
    if (out.outcome != "delivered") out.answer = core::text_member(*last, "answer");
    return out;
}

}  // namespace

AttemptsPage parse_attempts(const std::string& json) {
    AttemptsPage out;
    const auto page = core::parse_json(json);
    const auto* webhooks = core::find_member(page, "webhooks");
    if (!webhooks) return out;
    out.next = core::text_member(page, "next");
    for (const auto& one : *webhooks) {
        auto id = core::text_member(one, "webhook");
        if (!id.empty()) out.summaries.emplace(std::move(id), summary_of(one));
    }
    return out;
}

std::optional<DeadCounts> parse_dead_counts(const std::string& json) {
    const auto page = core::parse_json(json);
    if (!core::find_member(page, "all")) return std::nullopt;
    return DeadCounts{.letters = whole_member<std::uint64_t>(page, "all"),
                      .passed_over = whole_member<std::uint64_t>(page, "passed_over")};
}

AttemptPoller::AttemptPoller(const RetryApi& api) : api_(api) {
    if (api_.origins().empty()) return;
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

AttemptPoller::~AttemptPoller() = default;

std::optional<AttemptSummary> AttemptPoller::of(const std::string& webhook) const {
    const std::scoped_lock lock{mutex_};
    const auto found = known_.find(webhook);
    if (found == known_.end()) return std::nullopt;
    return found->second;
}

std::optional<DeadCounts> AttemptPoller::dead_letters() const {
    const std::scoped_lock lock{mutex_};
    return dead_letters_;
}

std::map<std::string, AttemptSummary> AttemptPoller::attempts_at(const std::string& origin) const {
    std::map<std::string, AttemptSummary> reported;
    std::string next;
    do {
        const auto tail = next.empty() ? "" : "&after=" + core::percent_encoded(next);
        const auto answer = api_.ask_at(origin, {.path = "/attempts?limit=250" + tail}, kTimeout);
        if (!answer || !answer->good()) break;
        auto page = parse_attempts(answer->body);
        reported.merge(page.summaries);
        // A page that goes back would never end.
        next = page.next > next ? page.next : std::string{};
    } while (!next.empty());
    return reported;
}

std::optional<DeadCounts> AttemptPoller::ask_dead_letters() const {
    const auto answer = api_.ask_any({.path = "/dead?limit=1"}, kTimeout);
    return answer && answer->good() ? parse_dead_counts(answer->body) : std::nullopt;
}

void AttemptPoller::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "console-retry");
    while (!stop.stop_requested()) {
        std::map<std::string, AttemptSummary> reported;
        for (const auto& origin : api_.origins()) {
            if (stop.stop_requested()) return;
            reported.merge(attempts_at(origin));
        }
        const auto dead_letters = ask_dead_letters();
        {
            const std::scoped_lock lock{mutex_};
            known_ = std::move(reported);
            dead_letters_ = dead_letters;
        }
        core::pause(stop, kEvery);
    }
}

}  // namespace beckon::console
