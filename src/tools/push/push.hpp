#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace beckon::tools {

/// `beckon push`: be an application server and send one message.
struct PushOptions {
    /// A subscription's JSON, a file that holds it, `-` for standard input, or a bare endpoint URL
    /// (then without text, for want of keys).
    std::string target = {};
    std::optional<std::string> message = std::nullopt;  ///< `-`: standard input; none: no data
    std::int64_t ttl_s = 2'419'200;      ///< how long the service keeps it; 0: online or lost
    std::string topic = {};              ///< replaces an earlier one of this Topic
    std::string urgency = {};            ///< very-low, low, normal or high
    std::string encoding = "aes128gcm";  ///< or aesgcm
    std::size_t padding_bytes = 0;       ///< hides the length of the text
    /// Key file (JSON as npm web-push prints it, or PEM); made if it does not exist.
    std::optional<std::filesystem::path> vapid_file = std::nullopt;
    std::string vapid_scheme = "vapid";                 ///< or webpush, the older one
    std::string subject = "mailto:nobody@example.com";  ///< whom the operator may write to
    bool insecure = false;                              ///< take any TLS certificate
    std::optional<std::filesystem::path> ca_file = std::nullopt;  ///< PEM to trust
    std::chrono::milliseconds timeout{30'000};
    bool remove = false;  ///< `target` is a message URL (Location of a 201): take it back
    bool json = false;
};

/// 0 if the push service accepted (2xx), 1 if it did not or was not reached, 2 for wrong options.
int run_push(const PushOptions& options);

}  // namespace beckon::tools
