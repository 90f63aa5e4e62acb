#include "retry/api/attempt_pages.hpp"

#include "core/json_text.hpp"
#include "core/time_text.hpp"

#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Json = nlohmann::json;

namespace {

Json attempt_json(const Attempt& one) {
    return {{"delivery", one.delivery},
            {"number", one.number},
            {"at", core::time_text(one.at)},
            {"took_ms", std::chrono::duration_cast<std::chrono::milliseconds>(one.took).count()},
            {"outcome", to_string(one.outcome)},
            {"status", one.status},
            {"why", one.why},
            {"answer", one.answer}};
}

}  // namespace

Json summary_json(const std::string& webhook, const AttemptSummary& summary) {
    return {{"webhook", webhook},
            {"attempts", summary.attempts},
            {"delivered", summary.delivered},
            {"last", summary.last ? attempt_json(*summary.last) : Json()}};
}

std::string first_attempts_page(Json page, const std::vector<FirstAttempts::Seen>& seen, bool all) {
    page["complete"] = all;
    page["attempts"] = Json::array();
    for (const auto& [webhook, attempt] : seen) {
        auto one = attempt_json(attempt);
        one["webhook"] = webhook;
        page["attempts"].push_back(std::move(one));
    }
    return core::json_text(page);
}

std::string attempts_page(const WebhookAttempts& attempts) {
    Json list = Json::array();
    for (const auto& one : attempts.last) list.push_back(attempt_json(one));
    Json hours = Json::array();
    for (const auto& one : attempts.hours) {
        hours.push_back({{"begins", core::time_text(one.begins)},
                         {"attempts", one.attempts},
                         {"delivered", one.delivered}});
    }
    return core::json_text(Json{{"attempts", std::move(list)}, {"hours", std::move(hours)}});
}

}  // namespace beckon::retry
