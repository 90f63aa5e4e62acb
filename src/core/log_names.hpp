#pragma once

#include "core/base64url.hpp"
#include "core/ids.hpp"
#include "core/tokens.hpp"

#include <string>

/// How log lines name a client and a message, so that one grep shows the life of a message, and no
/// line lets its reader act for a client.
namespace beckon::core {

/// The first 12 hex digits of the SHA-256 of the UAID's 32.
inline std::string log_name(const Uaid& client) {
    return hex(sha256(to_hex(client))).substr(0, 12);
}
/// The message's key in hex, and not its URL: a reader could delete the message with that.
inline std::string log_name(const MessageKey& message) { return to_hex(message); }

}  // namespace beckon::core
