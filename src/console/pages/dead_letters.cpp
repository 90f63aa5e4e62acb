#include "console/pages/dead_letters.hpp"

#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "core/percent.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::console {

using Json = nlohmann::json;

namespace {

/// Within a stop's time: a thread waits for the API as long.
constexpr std::chrono::milliseconds kAnswerWithin{8'000};
constexpr const char* kRedrive = "/dead/redrive";

Json object_in(const std::string& text) {
    auto json = text.empty() ? Json::object() : core::parse_json(text);
    return json.is_object() ? json : Json::object();
}

/// The answer to the page for a query that the API refused or did not take.
Answer refusal_of(const core::Result<client::ApiAnswer>& answer) {
    if (!answer) return refused(net::kUnavailable, answer.error().message);
    const auto detail = object_in(answer->body).value("detail", "");
    const auto why =
        detail.empty() ? "the role retry answered " + std::to_string(answer->status) : detail;
    return refused(answer->status == net::kBadRequest ? net::kBadRequest : net::kUnavailable, why);
}

/// The order as it is confirmed: up to the newest letter of the dry run, by the log's time, so that
/// no later one joins. The host's clock decides nothing.
std::string order_text(Json order, const Json& dry_run) {
    const auto before = dry_run.find("before");
    if (!order.contains("before") && before != dry_run.end()) order["before"] = *before;
    order["dry_run"] = false;
    return core::json_text(order);
}

std::size_t number(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number_unsigned() ? found->get<std::size_t>() : 0;
}

std::string query_of(const Parameters& asked) {
    std::string query;
    for (const auto& [name, value] : asked) {
        query.append(query.empty() ? "?" : "&").append(core::percent_encoded(name));
        query.append("=").append(core::percent_encoded(value));
    }
    return query;
}

}  // namespace

Answer DeadLetters::list(const Parameters& asked) const {
    const auto answer = api_.ask_any({.path = "/dead" + query_of(asked)}, kAnswerWithin);
    if (answer && answer->good()) return {net::kOk, answer->body};
    return refusal_of(answer);
}

Plan DeadLetters::plan(const std::string& wanted) const {
    auto order = wanted.empty() ? Json::object() : core::parse_json(wanted);
    if (!order.is_object()) return {refused(net::kBadRequest, "$ must be an object")};
    order["dry_run"] = true;
    const auto answer = api_.ask_any(
        {.method = "POST", .path = kRedrive, .body = core::json_text(order)}, kAnswerWithin);
    if (!answer || !answer->good()) return {refusal_of(answer)};
    const auto said = object_in(answer->body);
    const auto would_settle = number(said, "would_settle");
    Plan plan{{net::kOk, core::json_text(Json{{"matched", number(said, "matched")},
                                              {"disabled", number(said, "disabled")},
                                              {"would_settle", would_settle},
                                              {"sample", said.value("sample", Json::array())}})}};
    if (would_settle > 0) plan.order = order_text(std::move(order), said);
    return plan;
}

Answer DeadLetters::redrive(const std::string& order, const std::string& by) const {
    const auto answer =
        api_.ask_any({.method = "POST", .path = kRedrive, .body = order}, kAnswerWithin);
    if (!answer && answer.error().fault == core::Fault::timed_out) {
        return refused(
            net::kUnavailable,
            "the log has not answered yet; the redrive may still happen: check again later");
    }
    if (!answer || !answer->good()) return refusal_of(answer);
    const auto said = object_in(answer->body);
    const auto matched = number(said, "matched");
    const auto settled = number(said, "settled");
    const auto gone = number(said, "gone");
    const auto failed = number(said, "failed");
    core::log_info("console", "dead_letters_redriven",
                   {{"by", by},
                    {"order", order},
                    {"matched", matched},
                    {"settled", settled},
                    {"gone", gone},
                    {"failed", failed}});
    const auto over = number(said, "disabled") + settled + gone;
    return {net::kOk, core::json_text(Json{{"settled", settled},
                                           {"gone", gone},
                                           {"failed", failed},
                                           {"left", matched - std::min(matched, over)}})};
}

}  // namespace beckon::console
