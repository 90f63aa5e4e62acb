#pragma once

#include "client/p256_key.hpp"
#include "core/base64url.hpp"
#include "core/handle.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

/// What a push service does with the tokens that the client signs.
namespace beckon::test {

inline bool is_signed(const std::string& pem, std::string_view text, std::string_view signature) {
    const core::Handle<BIO, BIO_free_all> bio{
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
    const core::Handle<EVP_PKEY, EVP_PKEY_free> key{
        PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr)};
    const auto octets = [](std::string_view bytes) {
        return reinterpret_cast<const unsigned char*>(bytes.data());
    };
    constexpr int kHalf = client::kEs256Bytes / 2;
    const core::Handle<ECDSA_SIG, ECDSA_SIG_free> parsed{ECDSA_SIG_new()};
    ECDSA_SIG_set0(parsed.get(), BN_bin2bn(octets(signature), kHalf, nullptr),
                   BN_bin2bn(octets(signature) + kHalf, kHalf, nullptr));
    std::array<unsigned char, 80> der{};
    unsigned char* cursor = der.data();
    const int length = i2d_ECDSA_SIG(parsed.get(), &cursor);
    const core::Handle<EVP_MD_CTX, EVP_MD_CTX_free> context{EVP_MD_CTX_new()};
    return length > 0 &&
           EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
           EVP_DigestVerify(context.get(), der.data(), static_cast<std::size_t>(length),
                            octets(text), text.size()) == 1;
}

/// The claims of a token with three parts that the owner of `public_point` has signed.
inline std::optional<std::string> verify_jwt(std::string_view jwt, std::string_view public_point) {
    const auto first = jwt.find('.');
    const auto last = jwt.rfind('.');
    const auto pem = client::public_pem(public_point);
    if (!pem || first == std::string_view::npos || first == last) return std::nullopt;
    const auto signature = core::parse_base64url(jwt.substr(last + 1));
    if (!signature || signature->size() != client::kEs256Bytes ||
        !is_signed(*pem, jwt.substr(0, last), *signature)) {
        return std::nullopt;
    }
    return core::parse_base64url(jwt.substr(first + 1, last - first - 1));
}

}  // namespace beckon::test
