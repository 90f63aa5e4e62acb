#pragma once

#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"
#include "ingest/receipts/receipt_polls.hpp"

#include <string>
#include <string_view>

/// The words of receipts on the wire (docs/protocol/receipts.md). Pure functions.
namespace beckon::ingest {

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
