#pragma once

#include "core/tokens.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"

#include <optional>
#include <string>
#include <vector>

namespace beckon::ingest {

/// Whether a POST asks for a receipt (`Prefer: respond-async`, or a `Push-Receipt`), and for which
/// receipt subscription. That is the subscription of `Push-Receipt`, or else a new one, which
/// belongs to the sender whose VAPID key has this SHA-256 (if any). `origins`: of this service,
/// whose URLs `Push-Receipt` may name. Failure: bad_receipt.
Checked<std::optional<core::ReceiptRef>> check_receipt(
    const HttpRequest& request, core::ReceiptTokens& tokens,
    const std::vector<std::string>& origins, const std::optional<core::Sha256>& sender_sha256);

}  // namespace beckon::ingest
