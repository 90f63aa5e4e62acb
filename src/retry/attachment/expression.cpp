#include "retry/attachment/expression.hpp"

#include "retry/attachment/expression_parser.hpp"
#include "retry/attachment/expression_tokens.hpp"
#include "retry/attachment/nodes.hpp"

namespace beckon::retry {

using core::Fault;

namespace {

Pick parse_pointer(std::string_view text) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '/') {
            names.emplace_back();
            continue;
        }
        const bool escaped = text[i] == '~';
        if (escaped && (++i == text.size() || (text[i] != '0' && text[i] != '1'))) {
            throw BrokenExpression{0, "in a JSON Pointer only ~0 and ~1 may follow a ~"};
        }
        const char meant = text[i] == '0' ? '~' : '/';
        names.back().push_back(escaped ? meant : text[i]);
    }
    return node::pointer(std::move(names));
}

}  // namespace

core::Result<Expression> Expression::compile(std::string_view text) {
    if (text.empty() || text.size() > kBytesMax) {
        return core::fail(Fault::invalid, "must have 1 to 1024 bytes");
    }
    try {
        auto pick = text.front() == '/' ? parse_pointer(text) : parse_expression(text);
        return Expression{std::make_shared<const Node>(Node{std::move(pick)})};
    } catch (const BrokenExpression& broken) {
        return core::fail(Fault::invalid,
                          "at byte " + std::to_string(broken.at) + ": " + broken.why);
    }
}

core::Result<std::string> Expression::select(const JsonTree& document, Work& work) const {
    try {
        std::string out;
        root_->pick(Picked{document.root()}, work).append_to(out, work);
        return out;
    } catch (const TooMuchWork&) {
        return core::fail(Fault::too_large, "selects too much");
    }
}

}  // namespace beckon::retry
