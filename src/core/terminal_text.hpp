#pragma once

#include <string>
#include <string_view>

/// Texts of others on a terminal, which would obey the control characters in them. Pure functions,
/// any thread.
namespace beckon::core {

/// Whether a UTF-8 text has a character that a terminal obeys (C0, DEL, C1), or one that changes
/// the direction of what is shown (Unicode's bidirectional controls, line and paragraph separator).
bool has_terminal_control(std::string_view text);

/// The text with each of these as `\u001b`, in the form that JSON has for it, except line feeds and
/// tabs; bytes that are not UTF-8 become U+FFFD.
std::string terminal_text(std::string_view text);

}  // namespace beckon::core
