#pragma once

#include "core/result.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::core {

using Secret32 = std::array<std::uint8_t, 32>;

/// The keys of an installation (FORMATS "Key ring"): `keys.json`, mode 0600, shared by all roles.
/// Immutable after loading; any thread.
class KeyRing {
public:
    struct Key {
        std::uint8_t id = 0;  ///< 0–31, the first byte of what it encrypts carries it
        Secret32 secret{};
        std::string created;  ///< RFC 3339
    };

    /// One fresh key with id 0 and one fresh auth key.
    static KeyRing generate();
    /// Errors: not_found, unauthorized (mode lets others read), corrupt (what is wrong and where).
    static Result<KeyRing> load(const std::filesystem::path& file);
    /// Writes a temporary file, syncs, renames. The file gets mode 0600.
    Result<void> save(const std::filesystem::path& file) const;

    /// Adds a key with the next id, which encrypts from now on; the others go on being read.
    /// Error: full (32 keys).
    Result<KeyRing> rotated() const;

    const std::vector<Key>& keys() const { return keys_; }
    const Key& newest() const { return keys_.back(); }
    /// nullptr if there is none of that id.
    const Key* find(std::uint8_t id) const;

    /// Fernet keys of an installation that moves here, in order of preference (base64url, 32
    /// bytes).
    const std::vector<std::string>& crypto_keys() const { return crypto_keys_; }
    /// Registration secrets are made with the first (http-api.md §5.1).
    const std::vector<std::string>& auth_keys() const { return auth_keys_; }

    /// First 16 hex digits of a SHA-256 over all key material; stands in `control`.
    std::string fingerprint() const;

    /// HKDF-SHA256 of one key's secret with a purpose such as "beckon/token/1" as info.
    static Secret32 derive(const Key& key, std::string_view purpose);

    /// For tests and for `beckon keys`.
    KeyRing(std::vector<Key> keys, std::vector<std::string> crypto_keys,
            std::vector<std::string> auth_keys);

private:
    std::vector<Key> keys_;  ///< ascending by id, at least one
    std::vector<std::string> crypto_keys_;
    std::vector<std::string> auth_keys_;
};

}  // namespace beckon::core
