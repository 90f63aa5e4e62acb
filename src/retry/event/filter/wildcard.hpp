#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// A pattern over UTF-8: `*` is any text, `?` one code point. It is a nondeterministic automaton
/// whose states are bits (Shift-And), so every pattern reads a text once and never goes back in it:
/// a code point costs one operation for each 64 states. Immutable; any thread.
class Wildcard {
public:
    explicit Wildcard(std::string_view pattern);

    bool fits(std::string_view text) const;
    /// How many `*` and `?` it has, those that follow each other counted once for `*`.
    std::size_t wildcards() const { return wildcards_; }
    /// Operations for each code point.
    std::size_t words() const { return words_; }
    std::size_t heap_bytes() const;

private:
    using Word = std::uint64_t;
    std::size_t row_of(char32_t code_point) const;
    const Word* take_row(std::string_view& text) const;

    std::size_t states_ = 1;  ///< state i: the first i of its code points have been read
    std::size_t words_ = 1;
    std::size_t wildcards_ = 0;
    std::vector<char32_t> alphabet_;  ///< the code points that the pattern names, ascending
    /// A row for all code points that the pattern does not name, and one for each of the alphabet:
    /// the states that the code point leads on from.
    std::vector<Word> rows_;
    std::array<std::uint8_t, 128> ascii_{};  ///< the number of each one's row
    std::vector<Word> loops_;                ///< the states with a `*`, which stay
};

}  // namespace beckon::retry
