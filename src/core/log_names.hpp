#pragma once

#include "core/ids.hpp"

#include <string>

/// How log lines name a client and a message, so that one grep shows the life of a message, and no
/// line lets its reader act for a client.
namespace beckon::core {

/// The first 12 hex digits of the SHA-256 of the UAID's 32.
std::string log_name(const Uaid& client);
/// The message's key in hex, and not its URL: a reader could delete the message with that.
std::string log_name(const MessageKey& message);

}  // namespace beckon::core
