#include "ingest/registration/registration_secret.hpp"

#include "core/base64url.hpp"

#include <array>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace beckon::ingest {

std::string registration_secret(std::string_view auth_key, const core::Uaid& uaid) {
    const auto text = core::to_hex(uaid);
    std::array<unsigned char, 32> mac{};
    unsigned length = 0;
    HMAC(EVP_sha256(), auth_key.data(), static_cast<int>(auth_key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &length);
    return core::hex({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

bool is_registration_secret(const std::vector<std::string>& auth_keys, const core::Uaid& uaid,
                            std::string_view secret) {
    bool fits = false;
    for (const auto& key : auth_keys) {
        const auto expected = registration_secret(key, uaid);
        fits |= secret.size() == expected.size() &&
                CRYPTO_memcmp(secret.data(), expected.data(), expected.size()) == 0;
    }
    return fits;
}

}  // namespace beckon::ingest
