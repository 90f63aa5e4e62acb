#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Base64 and hex of bytes. Pure functions, any thread.
namespace beckon::core {

/// URL-safe alphabet, no padding (RFC 4648 §5).
std::string base64url(std::string_view bytes);
/// Appends the same to `out` without a temporary.
void append_base64url(std::string& out, std::string_view bytes);

/// Strict: URL-safe alphabet, and only the one text that base64url() makes of the bytes (unused
/// bits are zero), but up to two trailing `=` are tolerated. nullopt for anything else.
std::optional<std::string> parse_base64url(std::string_view text);
/// Decodes into `out` without an allocation and returns the number of bytes written; nullopt also
/// if `out` is too small.
std::optional<std::size_t> parse_base64url(std::string_view text, std::span<std::uint8_t> out);
/// Lenient, for keys that people and libraries write (VAPID keys, tracking keys): either alphabet,
/// unused bits ignored; up to two trailing `=` are tolerated.
std::optional<std::string> parse_base64_any(std::string_view text);

/// The plain alphabet, with padding (RFC 4648 §4).
std::string base64(std::string_view bytes);

/// Lower case, two digits per byte.
std::string hex(std::string_view bytes);

}  // namespace beckon::core
