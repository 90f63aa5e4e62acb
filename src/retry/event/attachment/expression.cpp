#include "retry/event/attachment/expression.hpp"

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "retry/event/attachment/nodes.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

namespace {

/// A fault of an expression, and its byte.
struct Broken {
    std::size_t at = 0;
    std::string why;
};

/// The kinds of tokens beside the characters that are one by themselves.
constexpr char kName = 'a';     ///< `order`, or `"a name"`
constexpr char kNumber = '0';   ///< in brackets
constexpr char kFlatten = ' ';  ///< `[]`
constexpr char kEnd = '\0';
constexpr std::string_view kCharacters = ".*@|[]{}(),:";
constexpr std::int64_t kNumberMax = 1'000'000'000;

bool begins_name(char c) { return core::is_letter(c) || c == '_'; }

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

/// How strongly a token binds to the expression on its left, as the grammar of JMESPath orders
/// them. A right side of a projection goes on until something binds weaker than kProjectionEnd.
enum Binding : int {
    kNothing = 0,
    kPipe = 1,
    kFlattening = 9,
    kProjectionEnd = 10,
    kStar = 20,
    kDot = 40,
    kBrace = 50,
    kBracket = 55,
    kParen = 60
};

Binding binding_of(char kind) {
    switch (kind) {
        case '|': return kPipe;
        case kFlatten: return kFlattening;
        case '*': return kStar;
        case '.': return kDot;
        case '{': return kBrace;
        case '[': return kBracket;
        case '(': return kParen;
        default: return kNothing;
    }
}

/// A precedence parser: some functions read the beginning of an expression (its "nud"), `extend`
/// reads the operators that may follow.
class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Pick run() {
        auto whole = expression(kNothing);
        if (kind() != kEnd) refuse("nothing more is expected");
        return whole;
    }

private:
    using Over = node::Over;

    [[noreturn]] void refuse(std::string why) const { throw Broken{at_, std::move(why)}; }

    /// Of the next token, to which it skips the blanks.
    char kind() {
        at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
        const auto rest = text_.substr(at_);
        if (rest.empty()) return kEnd;
        if (const auto* feature = left_out(rest)) {
            refuse(std::string{feature} + " is not known here");
        }
        const char c = rest.front();
        if (begins_name(c) || c == '"') return kName;
        if (core::is_digit(c) || c == '-') return kNumber;
        if (rest.starts_with("[]")) return kFlatten;
        if (kCharacters.find(c) == std::string_view::npos)
            refuse("a character that begins nothing");
        return c;
    }
    bool take_if(char wanted) {
        if (kind() != wanted) return false;
        at_ += wanted == kFlatten ? 2 : 1;
        return true;
    }
    void expect(char wanted) {
        if (!take_if(wanted)) refuse(std::string{wanted} + " is missing");
    }
    /// Takes one character, and those behind it for which `belongs` is true.
    template <class F>
    std::string_view take_while(F&& belongs) {
        const auto begin = at_++;
        while (at_ < text_.size() && belongs(text_[at_])) ++at_;
        return text_.substr(begin, at_ - begin);
    }
    std::string take_name() {
        if (kind() != kName) refuse("a name is expected");
        if (text_[at_] != '"') {
            return std::string{
                take_while([](char c) { return begins_name(c) || core::is_digit(c); })};
        }
        auto end = at_ + 1;  // a string of JSON
        while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size()) refuse("a quoted name without its end");
        const auto name = core::parse_json(text_.substr(at_, end + 1 - at_));
        if (!name.is_string()) refuse("a quoted name that is no JSON string");
        at_ = end + 1;
        return name.get<std::string>();
    }
    std::optional<std::int64_t> take_number() {
        if (kind() != kNumber) return std::nullopt;
        const auto begin = at_;
        const auto number = core::parse_decimal<std::int64_t>(take_while(core::is_digit));
        if (number && *number >= -kNumberMax && *number <= kNumberMax) return number;
        throw Broken{begin, "no number from -1000000000 to 1000000000"};
    }

    Pick expression(int binding) {
        if (++depth_ > Expression::kDepthMax) refuse("nested too deeply");
        auto left = beginning();
        while (binding < binding_of(kind())) left = extend(std::move(left));
        --depth_;
        return left;
    }

    Pick beginning() {
        if (kind() == kName) return node::field(take_name());
        if (take_if('@')) return node::current();
        if (take_if('*')) return node::projection(Over::object, node::current(), rest(kStar));
        if (take_if(kFlatten)) return flatten(node::current());
        if (take_if('[')) return bracket();
        if (take_if('{')) return multi_select_hash();
        if (!take_if('(')) refuse("a name, @, *, [, { or ( is expected");
        auto inner = expression(kNothing);
        expect(')');
        return inner;
    }

    Pick extend(Pick left) {
        if (take_if('.')) return after_dot(std::move(left));
        if (take_if('|')) return node::chain(std::move(left), expression(kPipe));
        if (take_if(kFlatten)) return flatten(std::move(left));
        if (take_if('[')) return after_bracket(std::move(left));
        refuse(kind() == '(' ? "a function is not known here"
                             : "a dot, a bracket or a pipe is expected");
    }

    Pick flatten(Pick left) {
        return node::projection(Over::list, node::flatten(std::move(left)), rest(kFlattening));
    }

    /// After `[` at the beginning of an expression.
    Pick bracket() {
        const auto begin = at_;
        const bool each = take_if('*') && kind() == ']';
        at_ = begin;
        if (each || kind() == kNumber || kind() == ':') return after_bracket(node::current());
        return multi_select_list();
    }

    Pick after_bracket(Pick left) {
        if (take_if('*')) {
            expect(']');
            return node::projection(Over::list, std::move(left), rest(kStar));
        }
        if (kind() != kNumber && kind() != ':') refuse("a number, a slice or * is expected");
        const auto number = take_number();
        if (kind() == ':') {
            auto sliced = node::slice(std::move(left), slice(number));
            return node::projection(Over::list, std::move(sliced), rest(kStar));
        }
        expect(']');
        return node::chain(std::move(left), node::index(*number));
    }

    Pick after_dot(Pick left) {
        if (take_if('*')) return node::projection(Over::object, std::move(left), rest(kStar));
        return node::chain(std::move(left), right_of_dot(kDot));
    }

    Pick right_of_dot(int binding) {
        if (kind() == kName || kind() == '*') return expression(binding);
        if (take_if('[')) return multi_select_list();
        if (take_if('{')) return multi_select_hash();
        refuse("a name, *, [ or { is expected");
    }

    /// The expression that a projection applies to each element.
    Pick rest(int binding) {
        if (binding_of(kind()) < kProjectionEnd) return node::current();
        if (kind() == '[') return expression(binding);
        if (take_if('.')) return right_of_dot(binding);
        refuse("a dot, a bracket or a pipe is expected");
    }

    node::Slice slice(std::optional<std::int64_t> start) {
        node::Slice slice{.start = start, .stop = std::nullopt};
        expect(':');
        slice.stop = take_number();
        if (take_if(':')) {
            const bool given = kind() == kNumber;
            const auto at = at_;
            if (given) slice.step = *take_number();
            if (slice.step == 0) throw Broken{at, "the step of a slice must not be 0"};
        }
        expect(']');
        return slice;
    }

    Pick multi_select_list() {
        std::vector<Pick> parts;
        do {
            parts.push_back(expression(kNothing));
        } while (take_if(','));
        expect(']');
        return node::list_of(std::move(parts));
    }

    Pick multi_select_hash() {
        std::vector<std::pair<std::string, Pick>> parts;
        do {
            auto name = take_name();
            expect(':');
            parts.emplace_back(std::move(name), expression(kNothing));
        } while (take_if(','));
        expect('}');
        return node::object_of(std::move(parts));
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
};

Pick parse_pointer(std::string_view text) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '/') {
            names.emplace_back();
            continue;
        }
        const bool escaped = text[i] == '~';
        if (escaped && (++i == text.size() || (text[i] != '0' && text[i] != '1'))) {
            throw Broken{0, "in a JSON Pointer only ~0 and ~1 may follow a ~"};
        }
        const char meant = text[i] == '0' ? '~' : '/';
        names.back().push_back(escaped ? meant : text[i]);
    }
    return node::pointer(std::move(names));
}

}  // namespace

core::Result<Expression> Expression::compile(std::string_view text) {
    if (text.empty() || text.size() > kBytesMax) {
        return core::fail(core::Fault::invalid, "must have 1 to 1024 bytes");
    }
    try {
        return Expression{text.starts_with('/') ? parse_pointer(text) : Parser{text}.run()};
    } catch (const Broken& broken) {
        return core::fail(core::Fault::invalid,
                          "at byte " + std::to_string(broken.at) + ": " + broken.why);
    }
}

core::Result<std::string> Expression::select(const JsonTree& document, Work& work) const {
    try {
        std::string out;
        pick_(Picked{document.root()}, work).append_to(out, work);
        return out;
    } catch (const TooMuchWork&) {
        return core::fail(core::Fault::too_large, "selects too much");
    }
}

}  // namespace beckon::retry
