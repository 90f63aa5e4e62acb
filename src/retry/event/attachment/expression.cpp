#include "retry/event/attachment/expression.hpp"

#include "retry/event/attachment/expression_parser.hpp"
#include "retry/event/attachment/nodes.hpp"

namespace beckon::retry {

using core::Fault;

core::Result<Expression> Expression::compile(std::string_view text) {
    if (text.empty() || text.size() > kBytesMax) {
        return core::fail(Fault::invalid, "must have 1 to 1024 bytes");
    }
    auto pick = parse_expression(text);
    if (!pick) return core::fail(pick.error());
    return Expression{std::move(*pick)};
}

core::Result<std::string> Expression::select(const JsonTree& document, Work& work) const {
    try {
        std::string out;
        pick_(Picked{document.root()}, work).append_to(out, work);
        return out;
    } catch (const TooMuchWork&) {
        return core::fail(Fault::too_large, "selects too much");
    }
}

}  // namespace beckon::retry
