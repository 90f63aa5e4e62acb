#include "ingest/registration/registration_secret.hpp"

#include "core/base64url.hpp"
#include "core/hmac.hpp"

namespace beckon::ingest {

std::string registration_secret(std::string_view auth_key, const core::Uaid& uaid) {
    return core::hex(core::hmac_sha256(auth_key, core::to_hex(uaid)));
}

bool is_registration_secret(const std::vector<std::string>& auth_keys, const core::Uaid& uaid,
                            std::string_view secret) {
    bool fits = false;
    for (const auto& key : auth_keys) {
        fits |= core::same_proof(registration_secret(key, uaid), secret);
    }
    return fits;
}

}  // namespace beckon::ingest
