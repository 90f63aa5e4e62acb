#include "retry/event/filter/words.hpp"

#include "core/ascii.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

constexpr char32_t kNoCodePoint = 0x110000;

bool in_word(char c) {
    return core::is_letter(c) || core::is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
}

/// Bytes of the code point that begins so; 0: none does.
std::size_t utf8_length(unsigned char first) {
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first < 0xe0) return 2;
    if (first >= 0xe0 && first < 0xf0) return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

}  // namespace

char32_t take_code_point(std::string_view& text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto first = byte(0);
    const auto length = utf8_length(first);
    char32_t value = length == 1 ? first : first & (0x7fU >> length);
    bool whole = length > 0 && length <= text.size();
    for (std::size_t i = 1; whole && i < length; ++i) {
        whole = (byte(i) & 0xc0U) == 0x80U;
        value = (value << 6) | (byte(i) & 0x3fU);
    }
    text.remove_prefix(whole ? length : 1);
    return whole ? value : kNoCodePoint + first;
}

std::string_view take_word(std::string_view& text) {
    const auto* begin = std::find_if(text.begin(), text.end(), in_word);
    const auto* end = std::find_if_not(begin, text.end(), in_word);
    const auto word = text.substr(static_cast<std::size_t>(begin - text.begin()),
                                  static_cast<std::size_t>(end - begin));
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    return word;
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (auto word = take_word(text); !word.empty(); word = take_word(text)) {
        words.push_back(core::lower(word));
    }
    return words;
}

}  // namespace beckon::retry
