#include "ingest/receipts/receipt_replies.hpp"

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "core/list_text.hpp"
#include "fetch/url.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace beckon::ingest {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kAfter = "?after=";

Json outcome_json(std::string_view origin, const ReceiptIndex::Entry& entry) {
    const auto outcome = core::outcome_of(entry.reason);
    return {{"message", std::string{origin} + "/m/" + entry.message_id},
            {"status", core::status_of(outcome)},
            {"outcome", to_string(outcome)},
            {"reason", to_string(entry.reason)},
            {"time_ms", entry.time.time_since_epoch().count()}};
}

}  // namespace

std::string receipt_url(std::string_view origin, std::string_view token) {
    return std::string{origin}.append("/r/").append(token);
}

void promise_receipt(HttpReply& reply, std::string_view receipt_url) {
    reply.status = 202;
    reply.add("Link", std::string{"<"}
                          .append(receipt_url)
                          .append(">; rel=\"")
                          .append(kReceiptRelation)
                          .append("\""));
    reply.add("Preference-Applied", "respond-async");
}

Checked<core::Offset> parse_after(std::string_view target) {
    const auto begin = target.find('?');
    if (begin == std::string_view::npos) return -1;
    const auto query = target.substr(begin);
    if (!query.starts_with(kAfter)) return fail(Problem::bad_receipt_query);
    const auto after = core::parse_decimal<core::Offset>(query.substr(kAfter.size()));
    if (!after || *after < -1) return fail(Problem::bad_receipt_query);
    return *after;
}

HttpReply outcomes_reply(std::string_view origin, std::string_view token,
                         const ReceiptPolls::Page& page, core::Offset after) {
    const auto last = page.outcomes.empty() ? after : page.outcomes.back().offset;
    const auto next = receipt_url(origin, token).append(kAfter).append(std::to_string(last));
    HttpReply reply;
    reply.add("Cache-Control", "no-store");
    reply.add("Link", "<" + next + ">; rel=\"next\"");
    if (page.outcomes.empty()) {
        reply.status = 204;
        return reply;
    }
    Json list = Json::array();
    for (const auto& entry : page.outcomes) list.push_back(outcome_json(origin, entry));
    reply.add("Content-Type", "application/json");
    reply.body =
        core::json_text(Json{{"receipts", list}, {"next", next}, {"complete", page.complete}});
    return reply;
}

namespace {

/// One preference, without its parameters.
void add(std::string_view one, Preferences& out) {
    one = one.substr(0, one.find(';'));
    const auto equals = one.find('=');
    const auto name = core::trimmed(one.substr(0, equals));
    if (core::equals_ignoring_case(name, "respond-async")) out.respond_async = true;
    if (equals == std::string_view::npos || !core::equals_ignoring_case(name, "wait")) return;
    const auto wait = core::parse_decimal<std::uint32_t>(core::trimmed(one.substr(equals + 1)));
    if (wait && !out.wait) out.wait = std::chrono::seconds{*wait};
}

}  // namespace

std::optional<std::string_view> push_receipt(const HttpRequest& request) {
    for (const auto& [name, value] : request.extra) {
        if (core::equals_ignoring_case(name, "push-receipt")) return value;
    }
    return std::nullopt;
}

Preferences preferences(const HttpRequest& request) {
    Preferences out;
    for (const auto& [name, value] : request.extra) {
        if (!core::equals_ignoring_case(name, "prefer")) continue;
        for (auto rest = value; !rest.empty();) add(core::take_part(rest, ','), out);
    }
    return out;
}

namespace {

constexpr std::string_view kPath = "/r/";

/// With the port that the scheme implies, so that two spellings of an origin are equal.
std::string whole_origin(const fetch::Url& url) {
    return core::lower(url.scheme() + "://" + url.host() + ":" +
                       url.part(CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or(""));
}

bool is_of(const fetch::Url& url, const std::vector<std::string>& origins) {
    return std::any_of(origins.begin(), origins.end(), [&](const auto& text) {
        const auto origin = fetch::Url::parse(text);
        return origin && whole_origin(*origin) == whole_origin(url);
    });
}

/// The token behind `/r/` in a URL of one of these origins, or in a path.
std::string token_of(std::string_view reference, const std::vector<std::string>& origins) {
    const bool is_path = reference.starts_with('/');
    const auto url = fetch::Url::parse(is_path ? "http://localhost" + std::string{reference}
                                               : std::string{reference});
    if (!url || (!is_path && !is_of(*url, origins))) return "";
    const auto path = url->part(CURLUPART_PATH).value_or("");
    return path.starts_with(kPath) ? path.substr(kPath.size()) : "";
}

core::ReceiptRef new_receipt(const std::optional<core::Sha256>& sender_sha256) {
    core::ReceiptRef receipt{.id = {core::random_uuid4()}, .sender = std::nullopt};
    if (!sender_sha256) return receipt;
    auto& sender = receipt.sender.emplace();
    std::copy_n(sender_sha256->begin(), sender.bytes.size(), sender.bytes.begin());
    return receipt;
}

}  // namespace

Checked<std::optional<core::ReceiptRef>> check_receipt(
    const HttpRequest& request, core::Tokens& tokens, const std::vector<std::string>& origins,
    const std::optional<core::Sha256>& sender_sha256) {
    if (request.extra.empty()) return std::optional<core::ReceiptRef>{};
    if (const auto named = push_receipt(request)) {
        const auto receipt = tokens.open_receipt(token_of(*named, origins));
        if (!receipt) return fail(Problem::bad_receipt);
        return std::optional{*receipt};
    }
    if (!preferences(request).respond_async) return std::optional<core::ReceiptRef>{};
    return std::optional{new_receipt(sender_sha256)};
}

}  // namespace beckon::ingest
