// Encryption and Crypto-Key: the grammar, the rules, and what is stored.
#include "ingest/encryption_headers.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace beckon::ingest;

namespace {

void require(bool ok) {
    if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto once = normalized(text);
    require(once.find('"') == std::string::npos);
    require(once.size() <= text.size());
    require(normalized(once) == once);
    for (const std::string_view name : {"dh", "salt", "p256ecdsa"}) {
        const auto found = find_parameter(text, name);
        require(found.parsable || !found.value);
    }
    for (const std::string_view encoding : {"aesgcm", "aes128gcm"}) {
        RequestHeaders headers;
        headers.add(HeaderName::content_encoding, encoding);
        headers.add(HeaderName::encryption, text);
        headers.add(HeaderName::crypto_key, text);
        const auto checked = check_encryption(headers);
        // The two encodings want the opposite of each other.
        if (checked && headers.get(HeaderName::encryption)) {
            const auto salt = find_parameter(*checked->encryption, "salt");
            require(salt.value.has_value() == (encoding == "aesgcm"));
        }
    }
    return 0;
}
