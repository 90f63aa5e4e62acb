#include "retry/attempt/bridge/signing_key.hpp"

#include "core/assert.hpp"
#include "core/base64url.hpp"

#include <array>
#include <utility>

#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/pem.h>

namespace beckon::retry {

using core::Fault;
using core::Handle;

namespace {

constexpr int kRsaBitsMin = 2'048;
constexpr int kScalarBytes = 32;

/// An encrypted key asks for nothing: it is refused.
int no_password(char*, int, int, void*) noexcept { return -1; }

/// JWS has r and s as 64 bytes, OpenSSL makes DER of them.
std::string as_raw(const std::string& der) {
    const auto* begin = reinterpret_cast<const unsigned char*>(der.data());
    const Handle<ECDSA_SIG, ECDSA_SIG_free> pair{
        d2i_ECDSA_SIG(nullptr, &begin, static_cast<long>(der.size()))};
    BECKON_ASSERT(pair, "OpenSSL reads the signature that it has made");
    std::array<unsigned char, std::size_t{2} * kScalarBytes> raw{};
    BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), raw.data(), kScalarBytes);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), raw.data() + kScalarBytes, kScalarBytes);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

bool is_p256(const EVP_PKEY* key) {
    std::array<char, 64> group{};
    std::size_t size = 0;
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
           EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1 &&
           std::string_view{group.data(), size} == "prime256v1";
}

bool is_rsa(const EVP_PKEY* key) {
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && EVP_PKEY_get_bits(key) >= kRsaBitsMin;
}

}  // namespace

core::Result<SigningKey> SigningKey::from_pem(std::string_view pem, Kind kind) {
    const Handle<BIO, BIO_free> bio{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
    Key key{bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_password, nullptr) : nullptr};
    ERR_clear_error();
    if (!key) {
        return core::fail(Fault::invalid, "holds no unencrypted private key in PEM form");
    }
    if (kind == Kind::rs256 && !is_rsa(key.get())) {
        return core::fail(Fault::invalid, "holds a key that is not RSA of at least 2048 bits");
    }
    if (kind == Kind::es256 && !is_p256(key.get())) {
        return core::fail(Fault::invalid, "holds a key that is not an EC key on P-256");
    }
    return SigningKey{std::move(key), kind};
}

std::string SigningKey::jwt(std::string_view header, std::string_view claims) const {
    auto text = core::base64url(header) + "." + core::base64url(claims);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    const Handle<EVP_MD_CTX, EVP_MD_CTX_free> context{EVP_MD_CTX_new()};
    std::size_t size = 0;
    bool good =
        context &&
        EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
        EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
    std::string signature(size, '\0');
    good = good && EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                                  &size, bytes, text.size()) == 1;
    BECKON_ASSERT(good, "a private key that was loaded signs");
    signature.resize(size);
    if (kind_ == Kind::es256) signature = as_raw(signature);
    return text + "." + core::base64url(signature);
}

}  // namespace beckon::retry
