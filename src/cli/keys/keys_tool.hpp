#pragma once

#include "cli/config/config.hpp"

#include <filesystem>
#include <string>

/// `beckon keys`: the key ring file and the forms of public keys. Each returns an exit code and
/// prints for a person; no secret is ever printed.
namespace beckon::cli {

/// Makes the key ring file; refuses to overwrite one.
int keys_generate(const Config& config);
/// Ids, ages and the fingerprint.
int keys_list(const Config& config);
/// Adds a key, which encrypts from the next start of the roles on, and publishes the new
/// fingerprint. Old endpoints stay alive, since old keys go on being read.
int keys_rotate(Config config);
/// Key lists in the notation of the installation that moves here: `[key1,key2]`; empty: none.
struct KeyLists {
    std::string crypto_keys{};
    std::string auth_keys{};
};
/// Puts them in front of the ring's own, so that endpoints and registration secrets made elsewhere
/// go on working. The log learns the new fingerprint by keys_publish().
int keys_import(const Config& config, const KeyLists& lists);
/// Writes the ring's fingerprint to `control`, so that roles with this ring may start: on Kafka if
/// kafka.servers is set, else in the embedded log of the data directory (standalone stopped).
int keys_publish(Config config);
/// A P-256 public key: a PEM file becomes the raw point in base64url (as VAPID and tracking keys
/// are written), a raw point becomes PEM.
int keys_convert(const std::string& input);

}  // namespace beckon::cli
