#include "ingest/receipts/receipt_replies.hpp"

#include "core/json_text.hpp"

#include <charconv>

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
    core::Offset after = -1;
    if (!query.starts_with(kAfter)) return fail(Problem::bad_receipt_query);
    const auto digits = query.substr(kAfter.size());
    const auto* const end = digits.data() + digits.size();
    const auto [at, fault] = std::from_chars(digits.data(), end, after);
    if (fault != std::errc{} || at != end || after < -1) {
        return fail(Problem::bad_receipt_query);
    }
    return after;
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

}  // namespace beckon::ingest
