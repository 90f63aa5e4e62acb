#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace beckon::core {

/// URL-safe alphabet, no padding (RFC 4648 §5).
std::string base64url(std::string_view bytes);
/// Appends the same to `out` without a temporary.
void append_base64url(std::string& out, std::string_view bytes);

/// Strict URL-safe alphabet; trailing `=` are tolerated. nullopt for any other character or an
/// impossible length.
std::optional<std::string> parse_base64url(std::string_view text);
/// Either alphabet (VAPID keys, tracking keys); trailing `=` are tolerated.
std::optional<std::string> parse_base64_any(std::string_view text);

std::string hex(std::string_view bytes);

}  // namespace beckon::core
