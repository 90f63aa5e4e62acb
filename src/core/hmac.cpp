#include "core/hmac.hpp"

#include "core/assert.hpp"

#include <array>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace beckon::core {

std::string hmac_sha256(std::string_view key, std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
    unsigned size = 0;
    const auto* made =
        HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
    BECKON_ASSERT(made != nullptr, "OpenSSL has HMAC-SHA-256");
    return {reinterpret_cast<const char*>(mac.data()), size};
}

bool same_proof(std::string_view right, std::string_view given) {
    return right.size() == given.size() &&
           CRYPTO_memcmp(right.data(), given.data(), right.size()) == 0;
}

}  // namespace beckon::core
