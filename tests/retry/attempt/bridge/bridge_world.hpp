#pragma once

#include "retry/attempt/bridge/credentials.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

/// Keys of bridges, made for a test.
namespace beckon::test {

struct PrivateKey {
    core::Handle<EVP_PKEY, EVP_PKEY_free> key;
    std::string pem;
};

inline PrivateKey with_pem(EVP_PKEY* made) {
    PrivateKey out{.key = core::Handle<EVP_PKEY, EVP_PKEY_free>{made}, .pem = {}};
    const core::Handle<BIO, BIO_free> bio{BIO_new(BIO_s_mem())};
    PEM_write_bio_PKCS8PrivateKey(bio.get(), made, nullptr, nullptr, 0, nullptr, nullptr);
    char* text = nullptr;
    const auto size = BIO_get_mem_data(bio.get(), &text);
    out.pem.assign(text, static_cast<std::size_t>(size));
    return out;
}
inline PrivateKey rsa_key(unsigned bits = 2'048) { return with_pem(EVP_RSA_gen(bits)); }
inline PrivateKey ec_key(const char* curve = "P-256") { return with_pem(EVP_EC_gen(curve)); }

inline retry::SigningKey signing_key(const PrivateKey& key, retry::SigningKey::Kind kind) {
    auto made = retry::SigningKey::from_pem(key.pem, kind);
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
}

inline retry::FcmCredentials fcm_credentials(const PrivateKey& key) {
    return {.app = "my-app",
            .project = "my-project",
            .client_email = "push@my-project.example",
            .key_id = "kid-1",
            .token_uri = "https://oauth.example/token",
            .key = signing_key(key, retry::SigningKey::Kind::rs256)};
}

inline retry::ApnsCredentials apns_credentials(const PrivateKey& key) {
    return {.channel = "release",
            .team_id = "TEAM",
            .key_id = "KEY",
            .topic = "org.example.app",
            .sandbox = false,
            .key = signing_key(key, retry::SigningKey::Kind::es256)};
}

}  // namespace beckon::test
