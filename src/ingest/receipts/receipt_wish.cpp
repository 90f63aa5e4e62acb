#include "ingest/receipts/receipt_wish.hpp"

#include "ingest/receipts/prefer.hpp"

#include <algorithm>
#include <string_view>

namespace beckon::ingest {

namespace {

constexpr std::string_view kPath = "/r/";

/// The token behind `/r/` in an absolute URL or a path. The host does not matter: this installation
/// cannot open another's token.
std::string_view token_of(std::string_view url) {
    if (const auto scheme = url.find("://"); scheme != std::string_view::npos) {
        url.remove_prefix(std::min(url.find('/', scheme + 3), url.size()));
    }
    if (!url.starts_with(kPath)) return {};
    url.remove_prefix(kPath.size());
    return url.substr(0, url.find_first_of("?#"));
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
