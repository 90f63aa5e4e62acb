#pragma once

#include "core/tokens.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"
#include "ingest/receipts/receipt_polls.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The words of receipts on the wire (docs/protocol/receipts.md). Pure functions.
namespace beckon::ingest {

/// Whether a POST asks for a receipt (`Prefer: respond-async`, or a `Push-Receipt`), and for which
/// receipt subscription. That is the subscription of `Push-Receipt`, or else a new one, which
/// belongs to the sender whose VAPID key has this SHA-256 (if any). `origins`: of this service,
/// whose URLs `Push-Receipt` may name. Failure: bad_receipt.
Checked<std::optional<core::ReceiptRef>> check_receipt(
    const HttpRequest& request, core::Tokens& tokens, const std::vector<std::string>& origins,
    const std::optional<core::Sha256>& sender_sha256);

/// HeaderName has none of the headers that this module reads: the port keeps headers with this
/// prefix.
inline constexpr std::string_view kReceiptHeaders = "p";

/// `Push-Receipt` of RFC 8030 §5.1.
std::optional<std::string_view> push_receipt(const HttpRequest& request);

/// The preferences of `Prefer` (RFC 7240) that concern receipts. Others and malformed ones are
/// ignored, as RFC 7240 allows.
struct Preferences {
    bool respond_async = false;
    std::optional<std::chrono::seconds> wait;
    bool operator==(const Preferences&) const = default;
};
Preferences preferences(const HttpRequest& request);

inline constexpr std::string_view kReceiptRelation = "urn:ietf:params:push:receipt";

std::string receipt_url(std::string_view origin, std::string_view token);

/// Turns a 201 into the 202 of a message with a receipt.
void promise_receipt(HttpReply& reply, std::string_view receipt_url);

/// `after` of a GET's query; -1 without one. Failure: bad_receipt_query.
Checked<core::Offset> parse_after(std::string_view target);

/// 200 with outcomes, or 204: there are none yet.
HttpReply outcomes_reply(std::string_view origin, std::string_view token,
                         const ReceiptPolls::Page& page, core::Offset after);

}  // namespace beckon::ingest
