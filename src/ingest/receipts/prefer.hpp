#pragma once

#include "ingest/api/http.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace beckon::ingest {

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

}  // namespace beckon::ingest
