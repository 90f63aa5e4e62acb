#pragma once

#include "ingest/api/http.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace beckon::ingest {

/// The headers that this module reads are none of HeaderName: the port keeps those that begin so.
inline constexpr std::string_view kReceiptHeaders = "p";

/// `Push-Receipt` of RFC 8030 §5.1.
std::optional<std::string_view> push_receipt(const HttpRequest& request);

/// What `Prefer` (RFC 7240) says of receipts. What it says else, or wrongly, is ignored, as a
/// preference may be.
struct Preferences {
    bool respond_async = false;
    std::optional<std::chrono::seconds> wait;
    bool operator==(const Preferences&) const = default;
};
Preferences preferences(const HttpRequest& request);

}  // namespace beckon::ingest
