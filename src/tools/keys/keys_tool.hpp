#pragma once

#include "app/config/config.hpp"

#include <filesystem>
#include <string>

/// `beckon keys`: the key ring file and the forms of public keys. Each returns an exit code and
/// prints for a person; no secret is ever printed.
namespace beckon::tools {

/// Makes the key ring file. Refuses to overwrite one, and to make one beside an existing log,
/// unless `force` is given because the log's own ring is lost for good.
int keys_generate(const app::Config& config, bool force);
/// Ids, ages and the fingerprint.
int keys_list(const app::Config& config);
/// Adds a key, which encrypts from the next start of the roles on. Old endpoints stay alive, since
/// old keys go on being read. It queries the log first, and publishes the ring before it changes
/// the file, so that a failure leaves both unchanged; the next call finishes one that a crash
/// interrupted. Beside a running standalone only the file changes: its next start publishes the
/// ring.
int keys_rotate(const app::Config& config);
/// Key lists in the notation of the installation that moves here: `[key1,key2]`; empty: none.
struct KeyLists {
    std::string crypto_keys{};
    std::string auth_keys{};
};
/// Puts them in front of the ring's own, so that endpoints and registration secrets made elsewhere
/// go on working; makes the ring if there is none. The log learns the new fingerprint by
/// keys_publish().
int keys_import(const app::Config& config, const KeyLists& lists);
/// Writes the ring's fingerprint to `control`, so that roles with this ring may start: on Kafka if
/// kafka.servers is set, else in the embedded log of the data directory (standalone stopped). A
/// ring that is not the published one with keys added needs `force`: endpoint URLs die with it.
int keys_publish(const app::Config& config, bool force);
/// A P-256 public key: a PEM file becomes the raw point in base64url (as VAPID and tracking keys
/// are written), a raw point becomes PEM.
int keys_convert(const std::string& input);
/// The key pair of an application server: reads `file` or makes it, and prints the public key as
/// pages and senders take it. `pem`, if not empty: a file to write the private key to as PEM.
int keys_vapid(const std::filesystem::path& file, const std::filesystem::path& pem);

}  // namespace beckon::tools
