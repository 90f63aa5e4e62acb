#include "retry/attachment/expression.hpp"

#include "retry/attachment/expression_parser.hpp"
#include "retry/attachment/expression_tokens.hpp"
#include "retry/attachment/nodes.hpp"

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

node::NodePtr parse_pointer(std::string_view text) {
    auto pointer = std::make_shared<node::Pointer>();
    try {
        pointer->pointer = Json::json_pointer{std::string{text}};
    } catch (const Json::exception&) {
        throw BrokenExpression{0, "in a JSON Pointer only ~0 and ~1 may follow a ~"};
    }
    return pointer;
}

}  // namespace

core::Result<Expression> Expression::compile(std::string_view text) {
    if (text.empty() || text.size() > kBytesMax) {
        return core::fail(Fault::invalid, "must have 1 to 1024 bytes");
    }
    try {
        return Expression{text.front() == '/' ? parse_pointer(text) : parse_expression(text)};
    } catch (const BrokenExpression& broken) {
        return core::fail(Fault::invalid,
                          "at byte " + std::to_string(broken.at) + ": " + broken.why);
    }
}

core::Result<Json> Expression::select(const Json& document, Work& work) const {
    try {
        return root_->pick(document, work).take(work);
    } catch (const TooMuchWork&) {
        return core::fail(Fault::too_large, "selects too much");
    }
}

}  // namespace beckon::retry
