#include "ingest/receipts/receipt_wish.hpp"

#include "core/ascii.hpp"
#include "fetch/url.hpp"
#include "ingest/receipts/prefer.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace beckon::ingest {

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
    const HttpRequest& request, core::ReceiptTokens& tokens,
    const std::vector<std::string>& origins, const std::optional<core::Sha256>& sender_sha256) {
    if (request.extra.empty()) return std::optional<core::ReceiptRef>{};
    if (const auto named = push_receipt(request)) {
        const auto receipt = tokens.open(token_of(*named, origins));
        if (!receipt) return fail(Problem::bad_receipt);
        return std::optional{*receipt};
    }
    if (!preferences(request).respond_async) return std::optional<core::ReceiptRef>{};
    return std::optional{new_receipt(sender_sha256)};
}

}  // namespace beckon::ingest
