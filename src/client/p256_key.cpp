#include "client/p256_key.hpp"

#include "core/assert.hpp"
#include "core/handle.hpp"

#include <array>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

namespace beckon::client {

namespace {

/// Our own input to OpenSSL is right by construction; if not, nothing may go on.
void openssl_must(bool ok) { BECKON_ASSERT(ok, "OpenSSL refused valid input"); }

using Key = core::Handle<EVP_PKEY, EVP_PKEY_free>;
using KeyContext = core::Handle<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using DigestContext = core::Handle<EVP_MD_CTX, EVP_MD_CTX_free>;
using Number = core::Handle<BIGNUM, BN_clear_free>;
using Group = core::Handle<EC_GROUP, EC_GROUP_free>;
using Point = core::Handle<EC_POINT, EC_POINT_free>;
using ParamBuilder = core::Handle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using Params = core::Handle<OSSL_PARAM, OSSL_PARAM_free>;
using Signature = core::Handle<ECDSA_SIG, ECDSA_SIG_free>;
using Bio = core::Handle<BIO, BIO_free_all>;

const unsigned char* octets_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* octets_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

/// Key from its point and, if there is one, its scalar. Null if OpenSSL finds them unsound.
Key make_key(std::string_view point, const BIGNUM* scalar) {
    const ParamBuilder builder{OSSL_PARAM_BLD_new()};
    OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                     point.size());
    if (scalar) OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, scalar);
    const Params params{OSSL_PARAM_BLD_to_param(builder.get())};
    const KeyContext context{EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr)};
    EVP_PKEY* key = nullptr;
    EVP_PKEY_fromdata_init(context.get());
    EVP_PKEY_fromdata(context.get(), &key, scalar ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY,
                      params.get());
    return Key{key};
}

Key public_key(std::string_view point) {
    if (point.size() != kPointBytes || point.front() != 0x04) return nullptr;
    return make_key(point, nullptr);
}

std::string scalar_of(const EVP_PKEY* key) {
    BIGNUM* raw = nullptr;
    openssl_must(EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &raw) == 1);
    const Number number{raw};
    std::string out(kScalarBytes, '\0');
    openssl_must(BN_bn2binpad(raw, octets_of(out), kScalarBytes) == kScalarBytes);
    return out;
}

std::string point_of_scalar(const BIGNUM* scalar) {
    const Group group{EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)};
    const Point point{EC_POINT_new(group.get())};
    openssl_must(EC_POINT_mul(group.get(), point.get(), scalar, nullptr, nullptr, nullptr) == 1);
    std::string out(kPointBytes, '\0');
    EC_POINT_point2oct(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED, octets_of(out),
                       out.size(), nullptr);
    return out;
}

bool in_range(const BIGNUM* scalar) {
    const Group group{EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)};
    return !BN_is_zero(scalar) && BN_cmp(scalar, EC_GROUP_get0_order(group.get())) < 0;
}

bool is_p256(const EVP_PKEY* key) {
    std::array<char, 64> curve{};
    return key && EVP_PKEY_get_group_name(key, curve.data(), curve.size(), nullptr) == 1 &&
           std::string_view{curve.data()} == "prime256v1";
}

Bio reader_of(std::string_view pem) {
    return Bio{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
}

std::string text_in(const Bio& bio) {
    char* data = nullptr;
    const auto size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

}  // namespace

P256Key P256Key::generate() {
    const Key key{EVP_EC_gen("prime256v1")};
    openssl_must(key != nullptr);
    return *from_private(scalar_of(key.get()));
}

Result<P256Key> P256Key::from_private(std::string_view scalar) {
    if (scalar.size() != kScalarBytes) {
        return core::fail(core::Fault::invalid, "a P-256 private key has 32 bytes, this one has " +
                                                    std::to_string(scalar.size()));
    }
    const Number number{BN_bin2bn(octets_of(scalar), kScalarBytes, nullptr)};
    if (!in_range(number.get())) {
        return core::fail(core::Fault::invalid, "the P-256 private key is out of range");
    }
    std::string point = point_of_scalar(number.get());
    Key key = make_key(point, number.get());
    openssl_must(key != nullptr);
    return P256Key{std::move(key), std::move(point), std::string{scalar}};
}

Result<P256Key> P256Key::from_pem(std::string_view pem) {
    const Key key{PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, nullptr, nullptr)};
    if (!is_p256(key.get())) {
        return core::fail(core::Fault::invalid, "not a PEM private key on the curve P-256");
    }
    return from_private(scalar_of(key.get()));
}

std::string P256Key::private_pem() const {
    const Bio bio{BIO_new(BIO_s_mem())};
    openssl_must(PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                               nullptr) == 1);
    return text_in(bio);
}

Result<std::string> P256Key::agree(std::string_view peer_point) const {
    const Key peer = public_key(peer_point);
    if (!peer) return core::fail(core::Fault::invalid, "not an uncompressed P-256 point");
    const KeyContext context{EVP_PKEY_CTX_new(key_.get(), nullptr)};
    std::string secret(kScalarBytes, '\0');
    std::size_t length = secret.size();
    if (EVP_PKEY_derive_init(context.get()) != 1 ||
        EVP_PKEY_derive_set_peer(context.get(), peer.get()) != 1 ||
        EVP_PKEY_derive(context.get(), octets_of(secret), &length) != 1 ||
        length != secret.size()) {
        return core::fail(core::Fault::invalid, "ECDH failed with that public key");
    }
    return secret;
}

std::string P256Key::sign(std::string_view text) const {
    const DigestContext context{EVP_MD_CTX_new()};
    std::array<unsigned char, 80> der{};
    std::size_t length = der.size();
    openssl_must(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) ==
                 1);
    openssl_must(EVP_DigestSign(context.get(), der.data(), &length, octets_of(text), text.size()) ==
                 1);
    const unsigned char* cursor = der.data();
    const Signature signature{d2i_ECDSA_SIG(nullptr, &cursor, static_cast<long>(length))};
    openssl_must(signature != nullptr);
    std::string out(kEs256Bytes, '\0');
    BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), octets_of(out), kScalarBytes);
    BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), octets_of(out) + kScalarBytes, kScalarBytes);
    return out;
}

Result<std::string> public_point_in(std::string_view pem) {
    Key key{PEM_read_bio_PUBKEY(reader_of(pem).get(), nullptr, nullptr, nullptr)};
    if (!key) key.reset(PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, nullptr, nullptr));
    if (!is_p256(key.get())) {
        return core::fail(core::Fault::invalid, "no PEM key on the curve P-256 (prime256v1)");
    }
    EVP_PKEY_set_utf8_string_param(key.get(), OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                   OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED);
    std::string point(kPointBytes, '\0');
    std::size_t size = 0;
    openssl_must(EVP_PKEY_get_octet_string_param(key.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                                 octets_of(point), point.size(), &size) == 1);
    return point;
}

std::optional<std::string> public_pem(std::string_view point) {
    const Key key = make_key(point, nullptr);
    const Bio bio{BIO_new(BIO_s_mem())};
    if (!key || PEM_write_bio_PUBKEY(bio.get(), key.get()) != 1) return std::nullopt;
    return text_in(bio);
}

}  // namespace beckon::client
