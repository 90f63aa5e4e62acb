#include "retry/attempt/bridge/bridge_verdict.hpp"

#include "core/ascii.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Json = nlohmann::json;
using std::chrono::seconds;

std::string word_in(const Json& object, const char* name) {
    constexpr std::size_t kWordMax = 64;
    const auto word = core::text_member(object, name);
    const bool plain = std::all_of(word.begin(), word.end(),
                                   [](char c) { return core::is_letter(c) || c == '_'; });
    return plain && word.size() <= kWordMax ? word : std::string{};
}

namespace {

/// FCM's message about a text that is no token, where its details name no field
/// (docs/facts/bridges.md#fcm).
constexpr std::string_view kNoFcmToken =
    "The registration token is not a valid FCM registration token";

/// FCM's error: the code of FCM itself, else the status of Google's APIs.
struct FcmError {
    std::string code;               ///< UNREGISTERED, QUOTA_EXCEEDED …
    std::string status;             ///< NOT_FOUND, RESOURCE_EXHAUSTED …
    bool token_is_invalid = false;  ///< it is about `message.token`, and about nothing else
    std::string word() const { return code.empty() ? status : code; }
};

/// The fields that a detail of type `google.rpc.BadRequest` names.
std::vector<std::string> invalid_fields(const Json& detail) {
    std::vector<std::string> fields;
    const auto* violations = core::find_member(detail, "fieldViolations");
    if (!violations || !violations->is_array()) return fields;
    for (const auto& one : *violations) fields.push_back(core::text_member(one, "field"));
    return fields;
}

FcmError fcm_error(const std::string& body) {
    const auto object = core::parse_json(body);
    const auto* error = core::find_member(object, "error");
    if (!error) return {};
    FcmError out{.code = {}, .status = word_in(*error, "status")};
    const auto* details = core::find_member(*error, "details");
    if (!details || !details->is_array()) return out;
    std::vector<std::string> fields;
    for (const auto& detail : *details) {
        if (out.code.empty()) out.code = word_in(detail, "errorCode");
        for (auto& field : invalid_fields(detail)) fields.push_back(std::move(field));
    }
    const auto is_token = [](const auto& field) { return field == "message.token"; };
    const bool names_token = core::text_member(*error, "message") == kNoFcmToken;
    out.token_is_invalid = fields.empty() ? names_token && !out.code.empty()
                                          : std::all_of(fields.begin(), fields.end(), is_token);
    return out;
}

std::string with_status(const HttpAnswer& answer, const std::string& word) {
    return std::to_string(answer.status) + (word.empty() ? "" : " " + word);
}

/// The verdict of an attempt that got no answer.
BridgeVerdict not_answered(const HttpAnswer& answer) {
    if (answer.end == HttpAnswer::End::unsendable) return {BridgeOutcome::refused, {}, answer.why};
    const bool slow = answer.end == HttpAnswer::End::timed_out;
    return {slow ? BridgeOutcome::timed_out : BridgeOutcome::unreachable, {}, answer.why};
}

BridgeVerdict later(const HttpAnswer& answer, std::string why) {
    return {BridgeOutcome::throttled, answer.retry_after.value_or(kBridgeWaitLeast),
            std::move(why)};
}

/// 5xx, and all other answers.
BridgeVerdict other(const HttpAnswer& answer, std::string why) {
    return {BridgeOutcome::failed, answer.retry_after.value_or(seconds{}), std::move(why)};
}

BridgeOutcome apns_400(const std::string& reason) {
    // Of the connection, or none of Apple's words: the message itself may be good.
    if (reason.empty() || reason == "IdleTimeout") return BridgeOutcome::failed;
    // A token of the sandbox at production, or of another app, looks like one that is none.
    if (reason == "BadDeviceToken" || reason == "DeviceTokenNotForTopic") {
        return BridgeOutcome::foreign;
    }
    return BridgeOutcome::refused;
}

/// All reasons of Apple that concern the provider token.
bool is_about_provider(const std::string& reason) {
    return reason == "TooManyProviderTokenUpdates" || reason.ends_with("ProviderToken");
}

}  // namespace

BridgeVerdict judge_fcm(const HttpAnswer& answer) {
    if (answer.end != HttpAnswer::End::answered) return not_answered(answer);
    if (answer.status == 200) return {BridgeOutcome::accepted, {}, {}};
    const auto error = fcm_error(answer.body);
    auto why = with_status(answer, error.word());
    switch (answer.status) {
        case 404:
            // A 404 of another server on the way (a proxy, a wrong URL), or of a project that does
            // not exist, says nothing about the token.
            if (error.code == "UNREGISTERED") return {BridgeOutcome::gone, {}, std::move(why)};
            return other(answer, std::move(why));
        case 400:
            if (error.word() != "INVALID_ARGUMENT") return other(answer, std::move(why));
            if (error.token_is_invalid) {
                return {BridgeOutcome::gone, {}, why + ": the token is none"};
            }
            return {BridgeOutcome::refused, {}, std::move(why)};
        case 403:
            if (error.code == "SENDER_ID_MISMATCH") {
                return {BridgeOutcome::foreign, {}, std::move(why)};
            }
            return {BridgeOutcome::unauthorized, {}, std::move(why)};
        case 401: return {BridgeOutcome::unauthorized, {}, std::move(why)};
        case 413: return {BridgeOutcome::refused, {}, std::move(why)};
        case 429: return later(answer, std::move(why));
        default: return other(answer, std::move(why));
    }
}

BridgeVerdict judge_apns(const HttpAnswer& answer) {
    if (answer.end != HttpAnswer::End::answered) return not_answered(answer);
    if (answer.status == 200) return {BridgeOutcome::accepted, {}, {}};
    const auto object = core::parse_json(answer.body);
    const auto reason = word_in(object, "reason");
    auto why = with_status(answer, reason);
    if (is_about_provider(reason)) return {BridgeOutcome::unauthorized, {}, std::move(why)};
    switch (answer.status) {
        case 410: return {BridgeOutcome::gone, {}, std::move(why)};
        case 400: return {apns_400(reason), {}, std::move(why)};
        case 413: return {BridgeOutcome::refused, {}, std::move(why)};
        case 401:
        case 403: return {BridgeOutcome::unauthorized, {}, std::move(why)};
        case 429: return later(answer, std::move(why));
        default: return other(answer, std::move(why));
    }
}

bool is_healthy(BridgeOutcome outcome) {
    switch (outcome) {
        case BridgeOutcome::accepted:
        case BridgeOutcome::gone:
        case BridgeOutcome::foreign:
        case BridgeOutcome::refused: return true;
        case BridgeOutcome::throttled:
        case BridgeOutcome::unauthorized:
        case BridgeOutcome::failed:
        case BridgeOutcome::timed_out:
        case BridgeOutcome::unreachable: return false;
    }
    return false;
}

bool is_faulty(BridgeOutcome outcome) {
    return !is_healthy(outcome) && outcome != BridgeOutcome::throttled;
}

}  // namespace beckon::retry
