// Evaluates expressions for tests/e2e/jmespath.mjs: each line of standard input is
// {"expression": …, "document": …}, each line of the answer {"result": …} or {"error": …}.
#include "retry/event/attachment/expression.hpp"

#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

using namespace beckon::retry;
using Json = nlohmann::json;

namespace {

Json answer(const Json& query) {
    const auto expression =
        Expression::compile(query.at("expression").get_ref<const std::string&>());
    if (!expression) return {{"error", expression.error().message}};
    Work work;
    const auto result = expression->select(JsonTree{query.at("document").dump()}, work);
    if (!result) return {{"error", result.error().message}};
    return {{"result", Json::parse(*result)}};
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << answer(Json::parse(line)).dump() << '\n';
    }
    return 0;
}
