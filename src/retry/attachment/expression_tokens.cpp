#include "retry/attachment/expression_tokens.hpp"

#include "core/json_text.hpp"

#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Kind = ExpressionToken::Kind;

namespace {

constexpr std::int64_t kNumberMax = 1'000'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::optional<Kind> single(char c) {
    switch (c) {
        case '.': return Kind::dot;
        case '*': return Kind::star;
        case '@': return Kind::current;
        case '|': return Kind::pipe;
        case ']': return Kind::bracket_end;
        case '{': return Kind::brace;
        case '}': return Kind::brace_end;
        case '(': return Kind::paren;
        case ')': return Kind::paren_end;
        case ',': return Kind::comma;
        case ':': return Kind::colon;
        default: return std::nullopt;
    }
}

/// The name of a JMESPath feature that this subset lacks, by its first byte.
const char* left_out(std::string_view rest) {
    if (rest.starts_with("[?")) return "a filter";
    if (rest.starts_with("||")) return "the operator ||";
    switch (rest.front()) {
        case '`':
        case '\'': return "a literal";
        case '&': return "the operator &";
        case '!': return "the operator !";
        case '=':
        case '<':
        case '>': return "a comparison";
        default: return nullptr;
    }
}

class Lexer {
public:
    explicit Lexer(std::string_view text) : text_(text) {}

    std::vector<ExpressionToken> run() {
        std::vector<ExpressionToken> tokens;
        for (;;) {
            while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
            if (at_ == text_.size()) break;
            tokens.push_back(next());
        }
        tokens.push_back({.kind = Kind::end, .at = at_});
        return tokens;
    }

private:
    ExpressionToken next() {
        const auto begin = at_;
        const char c = text_[at_];
        if (const auto* what = left_out(text_.substr(at_))) {
            throw BrokenExpression{begin, std::string{what} + " is not known here"};
        }
        if (begins_name(c)) return plain_name();
        if (c == '"') return quoted_name();
        if (is_digit(c) || c == '-') return number();
        if (c == '[') return bracket();
        const auto kind = single(c);
        if (!kind) throw BrokenExpression{begin, "a character that begins nothing"};
        ++at_;
        return {.kind = *kind, .at = begin};
    }

    ExpressionToken plain_name() {
        const auto begin = at_;
        while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
        return {
            .kind = Kind::name, .at = begin, .name = std::string{text_.substr(begin, at_ - begin)}};
    }

    /// As JSON writes a string.
    ExpressionToken quoted_name() {
        const auto begin = at_;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') ++at_;
        }
        if (at_ >= text_.size()) throw BrokenExpression{begin, "a quoted name without its end"};
        ++at_;
        const auto name = core::parse_json(text_.substr(begin, at_ - begin));
        if (!name.is_string())
            throw BrokenExpression{begin, "a quoted name that is no JSON string"};
        return {.kind = Kind::name, .at = begin, .name = name.get<std::string>()};
    }

    ExpressionToken number() {
        const auto begin = at_;
        if (text_[at_] == '-') ++at_;
        while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        std::int64_t value = 0;
        const auto read = std::from_chars(text_.data() + begin, text_.data() + at_, value);
        const bool fits = read.ec == std::errc{} && value >= -kNumberMax && value <= kNumberMax;
        if (!fits) throw BrokenExpression{begin, "no number from -1000000000 to 1000000000"};
        return {.kind = Kind::number, .at = begin, .name = {}, .number = value};
    }

    ExpressionToken bracket() {
        const auto begin = at_++;
        const bool flatten = at_ < text_.size() && text_[at_] == ']';
        if (flatten) ++at_;
        return {.kind = flatten ? Kind::flatten : Kind::bracket, .at = begin};
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<ExpressionToken> expression_tokens(std::string_view text) { return Lexer{text}.run(); }

}  // namespace beckon::retry
