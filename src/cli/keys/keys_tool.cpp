#include "cli/keys/keys_tool.hpp"

#include "cli/roles/installation.hpp"
#include "cli/roles/process.hpp"
#include "core/base64url.hpp"
#include "core/handle.hpp"
#include "core/key_ring.hpp"

#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

namespace beckon::cli {

namespace {

using KeyHandle = core::Handle<EVP_PKEY, EVP_PKEY_free>;
using ContextHandle = core::Handle<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using BioHandle = core::Handle<BIO, BIO_free_all>;

core::KeyRing load(const Config& config) {
    auto ring = core::KeyRing::load(config.key_ring_file());
    if (!ring) throw StartupError(ring.error().message);
    return std::move(*ring);
}

int publish_fingerprint(Config& config, const core::KeyRing& ring) {
    Installation installation{config};
    auto changed = installation.control();
    changed.keyring_fingerprint = ring.fingerprint();
    installation.write(changed);
    std::cout << "published the fingerprint " << ring.fingerprint() << "\n";
    return 0;
}

std::string raw_point(EVP_PKEY* key) {
    std::size_t size = 0;
    if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, nullptr, 0, &size) != 1)
        return {};
    std::string point(size, '\0');
    auto* out = reinterpret_cast<unsigned char*>(point.data());
    if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, out, size, &size) != 1)
        return {};
    return point;
}

KeyHandle key_of_point(const std::string& point) {
    ContextHandle context{EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr)};
    char group[] = "prime256v1";
    std::string copy = point;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, copy.data(), copy.size()),
        OSSL_PARAM_construct_end()};
    EVP_PKEY* key = nullptr;
    if (!context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY,
                          const_cast<OSSL_PARAM*>(params)) != 1) {
        return nullptr;
    }
    return KeyHandle{key};
}

int pem_to_point(const std::string& pem, const std::string& file) {
    const BioHandle bio{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
    KeyHandle key{PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr)};
    if (!key) {
        const BioHandle again{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
        key.reset(PEM_read_bio_PrivateKey(again.get(), nullptr, nullptr, nullptr));
    }
    char group[64] = {};
    std::size_t length = 0;
    if (!key || EVP_PKEY_get_group_name(key.get(), group, sizeof group, &length) != 1 ||
        std::string{group} != "prime256v1") {
        throw StartupError(file + " holds no PEM key on the curve P-256 (prime256v1)");
    }
    // Keys are read in either point form; what everybody writes is the uncompressed one.
    EVP_PKEY_set_utf8_string_param(key.get(), OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                   OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED);
    std::cout << core::base64url(raw_point(key.get())) << "\n";
    return 0;
}

}  // namespace

int keys_generate(const Config& config) {
    const auto file = config.key_ring_file();
    if (std::filesystem::exists(file)) {
        throw StartupError(
            file.string() +
            " exists already; its endpoints would die with it. Use `beckon keys rotate`, "
            "or name another file with --key-ring");
    }
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
    const auto ring = core::KeyRing::generate();
    if (const auto saved = ring.save(file); !saved) throw StartupError(saved.error().message);
    std::cout << "wrote " << file.string() << " (mode 0600), fingerprint " << ring.fingerprint()
              << "\ngive every endpoint and edge the same file; who loses it loses all endpoints\n";
    return 0;
}

int keys_list(const Config& config) {
    const auto ring = load(config);
    std::cout << "fingerprint " << ring.fingerprint() << "\n";
    for (const auto& key : ring.keys()) {
        std::cout << "key " << int{key.id} << "  created " << key.created
                  << (&key == &ring.newest() ? "  encrypts" : "  still read") << "\n";
    }
    std::cout << ring.crypto_keys().size() << " Fernet keys (crypto_keys), "
              << ring.auth_keys().size() << " auth keys\n";
    return 0;
}

int keys_rotate(Config config) {
    const auto rotated = load(config).rotated();
    if (!rotated) throw StartupError(rotated.error().message);
    if (const auto saved = rotated->save(config.key_ring_file()); !saved) {
        throw StartupError(saved.error().message);
    }
    std::cout << "key " << int{rotated->newest().id}
              << " encrypts from the next start on; copy the file to every node\n";
    return publish_fingerprint(config, *rotated);
}

int keys_import(const Config& config, const KeyLists& lists) {
    if (lists.crypto_keys.empty() && lists.auth_keys.empty()) {
        throw StartupError("give --crypto-keys, --auth-keys or both, each as [key1,key2]");
    }
    const auto parsed = [](const char* option, const std::string& text, auto parse) {
        if (text.empty()) return std::vector<std::string>{};
        auto keys = parse(text);
        if (!keys) throw StartupError(std::string{option} + ": " + keys.error().message);
        return std::move(*keys);
    };
    const auto ring =
        load(config).imported(parsed("--crypto-keys", lists.crypto_keys, core::parse_crypto_keys),
                              parsed("--auth-keys", lists.auth_keys, core::parse_key_list));
    if (const auto saved = ring.save(config.key_ring_file()); !saved) {
        throw StartupError(saved.error().message);
    }
    std::cout << "the ring has " << ring.crypto_keys().size() << " Fernet keys (crypto_keys) and "
              << ring.auth_keys().size() << " auth keys now, fingerprint " << ring.fingerprint()
              << "\nif the log exists already, tell it with `beckon keys publish`; "
                 "copy the file to every node\n";
    return 0;
}

int keys_publish(Config config) {
    const auto ring = load(config);
    return publish_fingerprint(config, ring);
}

int keys_convert(const std::string& input) {
    if (std::filesystem::exists(input)) {
        std::ifstream in{input};
        std::stringstream pem;
        pem << in.rdbuf();
        return pem_to_point(pem.str(), input);
    }
    const auto point = core::parse_base64_any(input);
    const auto key = point ? key_of_point(*point) : nullptr;
    if (!key) {
        throw StartupError(
            "neither a PEM file nor a P-256 point in base64url (65 bytes, 87 characters, begins "
            "with B)");
    }
    const BioHandle bio{BIO_new(BIO_s_mem())};
    PEM_write_bio_PUBKEY(bio.get(), key.get());
    char* data = nullptr;
    const auto size = BIO_get_mem_data(bio.get(), &data);
    std::cout << std::string_view{data, static_cast<std::size_t>(size)};
    return 0;
}

}  // namespace beckon::cli
