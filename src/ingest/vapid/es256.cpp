#include "ingest/vapid/es256.hpp"

#include "core/assert.hpp"
#include "core/handle.hpp"

#include <array>

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>

namespace beckon::ingest {

namespace {

using core::Handle;
using DigestContext = Handle<EVP_MD_CTX, EVP_MD_CTX_free>;
using KeyContext = Handle<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using Key = Handle<EVP_PKEY, EVP_PKEY_free>;

constexpr std::size_t kPointBytes = 65;
constexpr std::size_t kScalarBytes = 32;

/// One DER INTEGER from 32 big-endian bytes.
std::size_t append_integer(std::uint8_t* out, std::string_view scalar) {
    std::size_t skip = 0;
    while (skip < kScalarBytes - 1 && scalar[skip] == 0) ++skip;
    const bool sign_byte = (static_cast<std::uint8_t>(scalar[skip]) & 0x80) != 0;
    const auto length = kScalarBytes - skip + (sign_byte ? 1 : 0);
    std::size_t n = 0;
    out[n++] = 0x02;
    out[n++] = static_cast<std::uint8_t>(length);
    if (sign_byte) out[n++] = 0;
    for (auto i = skip; i < kScalarBytes; ++i) out[n++] = static_cast<std::uint8_t>(scalar[i]);
    return n;
}

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

struct Es256::Impl {
    DigestContext verifier{EVP_MD_CTX_new()};
    KeyContext from_data{EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr)};

    Key import(std::string_view point) const;
};

Key Es256::Impl::import(std::string_view point) const {
    if (point.size() != kPointBytes || point[0] != 0x04) return nullptr;
    if (EVP_PKEY_fromdata_init(from_data.get()) != 1) return nullptr;
    char group[] = "prime256v1";
    const std::array<OSSL_PARAM, 3> parameters{
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, const_cast<char*>(point.data()),
                                          point.size()),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY* key = nullptr;
    EVP_PKEY_fromdata(from_data.get(), &key, EVP_PKEY_PUBLIC_KEY,
                      const_cast<OSSL_PARAM*>(parameters.data()));
    return Key{key};
}

Es256::Es256() : impl_(std::make_unique<Impl>()) {
    BECKON_ASSERT(impl_->verifier && impl_->from_data, "OpenSSL lacks EC");
}

Es256::~Es256() = default;

Es256::Verdict Es256::verify(std::string_view point, std::string_view message,
                             std::string_view signature) {
    const auto key = impl_->import(point);
    if (!key) {
        ERR_clear_error();
        return Verdict::bad_key;
    }
    if (signature.size() != 2 * kScalarBytes) return Verdict::bad_signature;
    std::array<std::uint8_t, 72> der{};
    std::size_t body = append_integer(der.data() + 2, signature.substr(0, kScalarBytes));
    body += append_integer(der.data() + 2 + body, signature.substr(kScalarBytes));
    der[0] = 0x30;
    der[1] = static_cast<std::uint8_t>(body);

    auto* context = impl_->verifier.get();
    EVP_MD_CTX_reset(context);
    const bool good =
        EVP_DigestVerifyInit_ex(context, nullptr, "SHA256", nullptr, nullptr, key.get(), nullptr) ==
            1 &&
        EVP_DigestVerify(context, der.data(), body + 2, bytes_of(message), message.size()) == 1;
    ERR_clear_error();
    return good ? Verdict::good : Verdict::bad_signature;
}

}  // namespace beckon::ingest
