#pragma once

#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace beckon::ingest {

/// The result of a look-up in a `Crypto-Key`-style header
/// (docs/protocol/http-api.md#encryption-headers).
struct HeaderParameter {
    bool parsable = false;  ///< the whole header follows the grammar
    std::optional<std::string_view> value;
};
/// Sections split at `,`, items at `;`, each at its first `=`; names have no case, and the first
/// section that has the name counts. One item without `=` makes the whole header unparsable.
HeaderParameter find_parameter(std::string_view header, std::string_view name);

/// Removes double quotes and `=` runs at the end of values; names become lower case, since clients
/// compare them so (docs/protocol/http-api.md#encryption-headers).
std::string normalized(std::string_view header);

/// The encryption headers as they are stored and delivered; only for messages with a body.
struct EncryptionHeaders {
    std::string_view encoding;  ///< in lower case, static
    std::optional<std::string> encryption;
    std::optional<std::string> crypto_key;
};

/// Step 12 of docs/protocol/http-api.md#order-of-checks. Failure: bad_encryption, saying which rule
/// is broken.
Checked<EncryptionHeaders> check_encryption(const RequestHeaders& headers);

}  // namespace beckon::ingest
