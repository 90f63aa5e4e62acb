#pragma once

#include "core/result.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::core {

using Secret32 = std::array<std::uint8_t, 32>;

/// The keys of an installation (docs/formats/key-ring.md): `keys.json`, mode 0600, shared by all
/// roles. Any thread.
///
/// A ring that roles share may grow while they run: grow() adds keys and removes none. References
/// that it returned stay valid as long as the ring lives. A caller that caches values derived from
/// the keys derives them again when version() has changed.
class KeyRing {
public:
    static constexpr std::size_t kKeysMax = 32;  ///< five bits of a token's first byte
    static constexpr std::uintmax_t kFileBytesMax = 1 << 20;

    struct Key {
        std::uint8_t id = 0;  ///< 0–31; the first byte of each token that it encrypts has it
        Secret32 secret{};
        std::string created;  ///< RFC 3339
    };

    /// The rights that the file may have: `owner` allows mode 0600, `group` also 0640 (a secret
    /// that an orchestrator mounts often has another owner).
    enum class Access { owner, group };

    /// One fresh key with id 0 and one fresh auth key.
    static KeyRing generate();
    /// Errors: not_found, unauthorized (we may not read it, or others may), too_large, unavailable
    /// (disk), corrupt (the fault and its place). No message quotes the file: it holds secrets.
    static Result<KeyRing> load(const std::filesystem::path& file, Access access = Access::owner);
    /// Replaces the file as a whole or not at all: writes a temporary file of mode 0600, syncs,
    /// renames, syncs the directory. It follows a symbolic link, and an existing file keeps its
    /// mode and, where we may set it, its owner and group. Errors: not_found (no such directory),
    /// unauthorized, full, unavailable.
    Result<void> save(const std::filesystem::path& file) const;

    /// Adds a key with the next id, which encrypts from now on; the others go on being read.
    /// Error: full (32 keys).
    Result<KeyRing> rotated() const;
    /// A ring with the keys of another installation in front of its own keys. The lists are as
    /// parse_crypto_keys() and parse_key_list() give them.
    KeyRing imported(std::vector<std::string> crypto_keys,
                     std::vector<std::string> auth_keys) const;

    const std::vector<Key>& keys() const { return state().keys; }
    const Key& newest() const { return state().keys.back(); }
    /// The key that encrypts: the newest one, or during a rotation the newest one that every
    /// process has (grow()).
    const Key& sealing() const { return *find(state().sealing); }
    /// nullptr if there is none of that id.
    const Key* find(std::uint8_t id) const;

    /// Fernet keys of an installation that moves here, in order of preference (base64url, 32
    /// bytes).
    const std::vector<std::string>& crypto_keys() const { return state().crypto_keys; }
    /// Each of them proves a registration secret (docs/protocol/http-api.md#registration-secret).
    const std::vector<std::string>& auth_keys() const { return state().auth_keys; }
    /// The one that makes registration secrets; nullptr if there is none that every process has.
    const std::string* auth_key() const;

    /// Reads with all keys of `all` from now on, and encrypts with the newest key of `in_force`,
    /// which the other processes have too. `all` has every key of this ring.
    void grow(const KeyRing& all, const KeyRing& in_force);
    /// Another one after each grow().
    std::uint64_t version() const { return state().version; }

    /// First 16 hex digits of a SHA-256 over all key material; stands in `control`.
    std::string fingerprint() const;

    /// HKDF-SHA256 of one key's secret with a purpose such as "beckon/token/1" as info.
    static Secret32 derive(const Key& key, std::string_view purpose);

    /// For tests, `beckon keys` and keys that stand in the configuration. The lists are already
    /// checked: ids are below 32 and unique, at least one key, crypto keys as parse_crypto_keys().
    KeyRing(std::vector<Key> keys, std::vector<std::string> crypto_keys,
            std::vector<std::string> auth_keys);

    KeyRing(const KeyRing& other);
    KeyRing& operator=(const KeyRing& other) = delete;

private:
    struct State {
        std::vector<Key> keys;  ///< ascending by id, at least one
        std::vector<std::string> crypto_keys;
        std::vector<std::string> auth_keys;
        std::uint8_t sealing = 0;
        std::string auth_key;  ///< empty: none
        std::uint64_t version = 0;
    };
    explicit KeyRing(State state);
    const State& state() const { return *now_.load(std::memory_order_acquire); }

    std::mutex growing_;
    std::vector<std::unique_ptr<const State>> states_;  ///< guarded by growing_; none goes
    std::atomic<const State*> now_;
};

/// The reference's notation for a list in one setting: `[k1,k2]`. Double quotes and blanks are
/// stripped; `[]` is an empty list. Errors: invalid (brackets missing, an empty item).
Result<std::vector<std::string>> parse_key_list(std::string_view text);

/// parse_key_list() of Fernet keys: each must be base64url of 32 bytes. Errors: invalid (the item's
/// number and its fault, without quoting it).
Result<std::vector<std::string>> parse_crypto_keys(std::string_view text);

}  // namespace beckon::core
