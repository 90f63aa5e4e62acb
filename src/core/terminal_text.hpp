#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Texts of others on a terminal, which would obey the control characters in them. Pure functions,
/// any thread.
namespace beckon::core {

/// A character of a UTF-8 text, and its length there.
struct Character {
    char32_t code = 0xfffd;
    std::size_t bytes = 1;
    /// A byte that begins no character: an overlong form or half of a surrogate pair is none.
    bool is_invalid() const { return code == 0xfffd && bytes == 1; }
};
/// The first character of a text that is not empty.
Character first_character(std::string_view text);

/// Whether a UTF-8 text has a character that a terminal obeys (C0, DEL, C1), or one that changes
/// the direction of what is shown (Unicode's bidirectional controls, line and paragraph separator).
bool has_terminal_control(std::string_view text);

/// The text with each of these as `\u001b`, in the form that JSON has for it, except line feeds and
/// tabs; bytes that are not UTF-8 become U+FFFD.
std::string terminal_text(std::string_view text);

}  // namespace beckon::core
