#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Text as `match` and `wildcard` see it. Pure functions.
namespace beckon::retry {

/// The words of a text: runs of ASCII letters, digits and bytes above 0x7f; ASCII in lower case.
std::vector<std::string> words_of(std::string_view text);

/// `*` is any text, `?` one byte; in time linear to the product of both lengths, at most.
bool fits_wildcard(std::string_view pattern, std::string_view text);

}  // namespace beckon::retry
