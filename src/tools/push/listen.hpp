#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace beckon::tools {

/// `beckon listen`: be a user agent. Subscribes, prints the subscription as JSON that sender
/// libraries read, then prints each message, decrypted, and acknowledges it. When the connection
/// ends it comes back with the same subscription.
struct ListenOptions {
    std::string url = "ws://127.0.0.1:8080/";                     ///< ws or wss
    bool insecure = false;                                        ///< take any TLS certificate
    std::optional<std::filesystem::path> ca_file = std::nullopt;  ///< PEM to trust
    /// Where uaid, channels and keys are kept, so that the next run has the same subscription.
    std::optional<std::filesystem::path> state_file = std::nullopt;
    /// Restricts a new subscription to this application server: a base64url public key, or a key
    /// file as `push --vapid` uses it. Empty: every application server may send.
    std::string vapid = {};
    std::uint64_t count = 0;  ///< stop after so many messages; 0: never. `--once` is 1
    std::optional<std::chrono::milliseconds> timeout = std::nullopt;  ///< stop after it, with 1
    bool acknowledge = true;   ///< false: messages come again at the next connection
    bool unsubscribe = false;  ///< unregister the channel at the end
    bool reconnect = true;     ///< false: a lost connection ends it with 1
    bool json = false;         ///< JSON lines on standard output instead of text
};

/// 0 after `count` messages, 128 + its number after a signal, 1 if the count was not reached, 2 for
/// wrong options or a state file that another `listen` uses.
int run_listen(const ListenOptions& options);

}  // namespace beckon::tools
