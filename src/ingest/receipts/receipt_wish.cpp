#include "ingest/receipts/receipt_wish.hpp"

#include "fetch/url.hpp"
#include "ingest/receipts/prefer.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace beckon::ingest {

namespace {

constexpr std::string_view kPath = "/r/";

/// The token behind `/r/` in an absolute URL or a path. The host does not matter: this installation
/// cannot open another's token.
std::string token_of(std::string_view reference) {
    const auto url =
        fetch::Url::parse(reference.starts_with('/') ? "http://localhost" + std::string{reference}
                                                     : std::string{reference});
    const auto path = url ? url->part(CURLUPART_PATH).value_or("") : "";
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
    const std::optional<core::Sha256>& sender_sha256) {
    if (request.extra.empty()) return std::optional<core::ReceiptRef>{};
    if (const auto named = push_receipt(request)) {
        const auto receipt = tokens.open(token_of(*named));
        if (!receipt) return fail(Problem::bad_receipt);
        return std::optional{*receipt};
    }
    if (!preferences(request).respond_async) return std::optional<core::ReceiptRef>{};
    return std::optional{new_receipt(sender_sha256)};
}

}  // namespace beckon::ingest
