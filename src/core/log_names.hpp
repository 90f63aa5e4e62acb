#pragma once

#include "core/ids.hpp"

#include <string>

/// How log lines name a client and a message, so that one grep shows the life of a message and no
/// line lets anybody act for a client.
namespace beckon::core {

/// The first 12 hex digits of the SHA-256 of the UAID's 32.
std::string log_name(const Uaid& client);
/// The message's key in hex: not its URL, which whoever has it may delete.
std::string log_name(const MessageKey& message);

}  // namespace beckon::core
