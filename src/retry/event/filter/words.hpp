#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Text as `match` and `wildcard` see it. Pure functions.
namespace beckon::retry {

/// Takes the first code point of a UTF-8 text, which is not empty. A byte that begins none is one
/// by itself, above all that there are.
char32_t take_code_point(std::string_view& text);

/// Takes the next word of a text: a run of ASCII letters, digits and bytes above 0x7f, as it stands
/// there. Empty: there is none any more.
std::string_view take_word(std::string_view& text);

/// The words of a text as they compare: ASCII in lower case.
std::vector<std::string> words_of(std::string_view text);

}  // namespace beckon::retry
