#pragma once

#include "core/result.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// JSON that passes through unchanged as text, with numbers of any length and repeated names. These
/// functions parse it only to validate it, and return views of its parts. Pure functions, any
/// thread; their cost is linear in the text, however deep it nests.
namespace beckon::core {

/// A member of an object.
struct JsonMember {
    std::string name;  ///< without escapes, UTF-8
    std::string_view value;
};

/// The one value in `text`, without the blanks and the byte-order mark around it. The result can
/// replace any value of another JSON text. Errors: invalid; the message goes on after the name of a
/// place ("is not JSON (byte 7)"). A number beyond what a double holds is refused too, since most
/// readers would (RFC 8259 §6).
Result<std::string_view> json_value(std::string_view text);

/// The members of an object, in their order; views into `value`, which json_value() has returned.
/// Errors: invalid (it is no object).
Result<std::vector<JsonMember>> json_members(std::string_view value);

/// The elements of a list, likewise.
Result<std::vector<std::string_view>> json_elements(std::string_view value);

/// The text of an object's first member of this name, where that is a string. It is found in place:
/// nothing else is decoded, so it costs a few nanoseconds a byte at most. Any text may be given;
/// nullopt, or some other string of it, where it is not JSON.
std::optional<std::string> json_string_member(std::string_view object, std::string_view name);

/// The same of several members, in one pass over the text.
std::vector<std::optional<std::string>> json_string_members(
    std::string_view object, std::initializer_list<std::string_view> names);

/// Appends a member to the text of an object that begins with `{` and has no end yet; `name` is
/// UTF-8.
void append_json_member(std::string& object, std::string_view name, std::string_view value);

/// The object with one member more, which it does not have yet.
std::string with_json_member(std::string_view object, std::string_view name,
                             std::string_view value);

/// A string's text, with quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// Whether these bytes are UTF-8 (RFC 3629).
bool is_utf8(std::string_view bytes);

}  // namespace beckon::core
