#include "retry/attachment/expression_parser.hpp"

#include "retry/attachment/expression_tokens.hpp"

#include <algorithm>
#include <utility>

namespace beckon::retry {

using Kind = ExpressionToken::Kind;

namespace {

/// How strongly a token binds to the expression on its left, as the grammar of JMESPath orders
/// them. A right side of a projection goes on until something binds weaker than kProjectionEnd.
enum Binding : int {
    kNothing = 0,
    kPipe = 1,
    kFlatten = 9,
    kProjectionEnd = 10,
    kStar = 20,
    kDot = 40,
    kBrace = 50,
    kBracket = 55,
    kParen = 60
};

int binding_of(Kind kind) {
    switch (kind) {
        case Kind::pipe: return kPipe;
        case Kind::flatten: return kFlatten;
        case Kind::star: return kStar;
        case Kind::dot: return kDot;
        case Kind::brace: return kBrace;
        case Kind::bracket: return kBracket;
        case Kind::paren: return kParen;
        case Kind::name:
        case Kind::number:
        case Kind::current:
        case Kind::bracket_end:
        case Kind::brace_end:
        case Kind::paren_end:
        case Kind::comma:
        case Kind::colon:
        case Kind::end: return kNothing;
    }
    return kNothing;
}

/// A precedence parser: some functions read the beginning of an expression (its "nud"), `extend`
/// reads the operators that may follow.
class Parser {
public:
    explicit Parser(std::string_view text) : tokens_(expression_tokens(text)) {}

    Pick run() {
        auto whole = expression(kNothing);
        if (kind() != Kind::end) refuse("nothing more is expected");
        return whole;
    }

private:
    using Over = node::Over;

    const ExpressionToken& token() const { return tokens_[at_]; }
    Kind kind() const { return token().kind; }
    Kind next_kind() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)].kind; }
    ExpressionToken take() { return tokens_[at_++]; }
    bool take_if(Kind wanted) {
        if (kind() != wanted) return false;
        ++at_;
        return true;
    }
    void expect(Kind wanted, const char* what) {
        if (!take_if(wanted)) refuse(std::string{what} + " is missing");
    }
    [[noreturn]] void refuse(std::string why) const {
        throw BrokenExpression{token().at, std::move(why)};
    }

    Pick expression(int binding) {
        if (++depth_ > Expression::kDepthMax) refuse("nested too deeply");
        auto left = beginning();
        while (binding < binding_of(kind())) left = extend(std::move(left));
        --depth_;
        return left;
    }

    Pick beginning() {
        switch (kind()) {
            case Kind::name: return name();
            case Kind::current: return take(), node::current();
            case Kind::star:
                return take(), node::projection(Over::object, node::current(), rest(kStar));
            case Kind::flatten: return flatten(node::current());
            case Kind::bracket: return take(), bracket();
            case Kind::brace: return take(), multi_select_hash();
            case Kind::paren: return take(), group();
            case Kind::number:
            case Kind::dot:
            case Kind::pipe:
            case Kind::bracket_end:
            case Kind::brace_end:
            case Kind::paren_end:
            case Kind::comma:
            case Kind::colon:
            case Kind::end: break;
        }
        refuse("a name, @, *, [, { or ( is expected");
    }

    Pick extend(Pick left) {
        switch (kind()) {
            case Kind::dot: return take(), after_dot(std::move(left));
            case Kind::pipe: return take(), node::chain(std::move(left), expression(kPipe));
            case Kind::flatten: return flatten(std::move(left));
            case Kind::bracket: return take(), after_bracket(std::move(left));
            case Kind::paren: refuse("a function is not known here");
            case Kind::star:
            case Kind::brace:
            case Kind::name:
            case Kind::number:
            case Kind::current:
            case Kind::bracket_end:
            case Kind::brace_end:
            case Kind::paren_end:
            case Kind::comma:
            case Kind::colon:
            case Kind::end: break;
        }
        refuse("a dot, a bracket or a pipe is expected");
    }

    Pick name() { return node::field(take().name); }

    Pick group() {
        auto inner = expression(kNothing);
        expect(Kind::paren_end, ")");
        return inner;
    }

    Pick flatten(Pick left) {
        take();
        return node::projection(Over::list, node::flatten(std::move(left)), rest(kFlatten));
    }

    /// After `[` at the beginning of an expression.
    Pick bracket() {
        if (kind() == Kind::number || kind() == Kind::colon) return index(node::current());
        if (kind() == Kind::star && next_kind() == Kind::bracket_end) return each(node::current());
        return multi_select_list();
    }

    Pick after_bracket(Pick left) {
        if (kind() == Kind::number || kind() == Kind::colon) return index(std::move(left));
        if (kind() != Kind::star) refuse("a number, a slice or * is expected");
        return each(std::move(left));
    }

    Pick each(Pick left) {
        expect(Kind::star, "*");
        expect(Kind::bracket_end, "]");
        return node::projection(Over::list, std::move(left), rest(kStar));
    }

    Pick after_dot(Pick left) {
        if (take_if(Kind::star))
            return node::projection(Over::object, std::move(left), rest(kStar));
        return node::chain(std::move(left), right_of_dot(kDot));
    }

    Pick right_of_dot(int binding) {
        if (kind() == Kind::name || kind() == Kind::star) return expression(binding);
        if (take_if(Kind::bracket)) return multi_select_list();
        if (take_if(Kind::brace)) return multi_select_hash();
        refuse("a name, *, [ or { is expected");
    }

    /// The expression that a projection applies to each element.
    Pick rest(int binding) {
        if (binding_of(kind()) < kProjectionEnd) return node::current();
        if (kind() == Kind::bracket) return expression(binding);
        if (take_if(Kind::dot)) return right_of_dot(binding);
        refuse("a dot, a bracket or a pipe is expected");
    }

    Pick index(Pick left) {
        if (kind() == Kind::colon || next_kind() == Kind::colon) {
            auto sliced = node::chain(std::move(left), slice());
            return node::projection(Over::list, std::move(sliced), rest(kStar));
        }
        auto index = node::index(take().number);
        expect(Kind::bracket_end, "]");
        return node::chain(std::move(left), std::move(index));
    }

    Pick slice() {
        node::Slice slice;
        slice.start = take_number();
        expect(Kind::colon, ":");
        slice.stop = take_number();
        if (take_if(Kind::colon)) {
            const auto at = token().at;
            slice.step = take_number().value_or(1);
            if (slice.step == 0) throw BrokenExpression{at, "the step of a slice must not be 0"};
        }
        expect(Kind::bracket_end, "]");
        return node::slice(slice);
    }

    std::optional<std::int64_t> take_number() {
        if (kind() != Kind::number) return std::nullopt;
        return take().number;
    }

    Pick multi_select_list() {
        std::vector<Pick> parts;
        do {
            parts.push_back(expression(kNothing));
        } while (take_if(Kind::comma));
        expect(Kind::bracket_end, "]");
        return node::list_of(std::move(parts));
    }

    Pick multi_select_hash() {
        std::vector<std::pair<std::string, Pick>> parts;
        do {
            if (kind() != Kind::name) refuse("a name is expected");
            auto name = take().name;
            expect(Kind::colon, ":");
            parts.emplace_back(std::move(name), expression(kNothing));
        } while (take_if(Kind::comma));
        expect(Kind::brace_end, "}");
        return node::object_of(std::move(parts));
    }

    const std::vector<ExpressionToken> tokens_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
};

}  // namespace

Pick parse_expression(std::string_view text) { return Parser{text}.run(); }

}  // namespace beckon::retry
