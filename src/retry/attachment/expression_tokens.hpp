#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// A fault of an expression, and its byte. Thrown by the parser, and caught by
/// Expression::compile().
struct BrokenExpression {
    std::size_t at = 0;
    std::string why;
};

struct ExpressionToken {
    enum class Kind : std::uint8_t {
        name,         ///< `order`, or `"a name"`
        number,       ///< in brackets
        dot,          // .
        star,         // *
        current,      // @
        pipe,         // |
        flatten,      // []
        bracket,      // [
        bracket_end,  // ]
        brace,        // {
        brace_end,    // }
        paren,        // (
        paren_end,    // )
        comma,
        colon,
        end,
    };
    Kind kind = Kind::end;
    std::size_t at = 0;  ///< byte of the text
    std::string name{};
    std::int64_t number = 0;
};

/// The last one is `end`. Throws BrokenExpression.
std::vector<ExpressionToken> expression_tokens(std::string_view text);

}  // namespace beckon::retry
