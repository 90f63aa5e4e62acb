// The first line is a filter, the rest an event. Every filter is refused with the place of its
// fault, or gives the same result for the event each time, within its steps; and the index gives
// the same result as an evaluation.
#include "core/json_parts.hpp"
#include "fuzz/require.hpp"
#include "retry/event/filter/json_tree.hpp"
#include "retry/event/filter/percolator.hpp"
#include "retry/event/filter/query.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

using namespace beckon;
using namespace beckon::retry;
using beckon::test::require;

namespace {

constexpr std::string_view kEvent =
    R"({"id":"1","type":"a.b","data":{"a":[{"b":1,"c":[[2,3],[]]},{"b":null,"a.b":"x y"},"x"],)"
    R"("b":{"a":{"b":"2026-11-20"}},"n":9007199254740993,"f":1e5,"t":true,"e":"\u00e9"}})";

/// No input is so large: an evaluation that takes more is at fault.
constexpr std::size_t kStepsMost = std::size_t{1} << 26;

/// The text itself, so that the tree is built of whatever an event may have.
JsonTree event_of(std::string_view text) {
    const auto value = core::json_value(text);
    return JsonTree{value && value->starts_with('{') ? *value : kEvent};
}

std::optional<bool> evaluate(const Query& query, const JsonTree& event, std::size_t most,
                             std::size_t& taken) {
    Steps steps{most};
    const auto matched = query.matches(event, core::Timestamp{}, steps);
    taken = most - steps.left();
    require(matched.has_value() != steps.exhausted());
    return matched;
}

void check(const Query& query, const JsonTree& event) {
    std::size_t taken = 0;
    const auto matched = evaluate(query, event, kStepsMost, taken);
    require(matched.has_value());
    std::size_t again = 0;
    require(evaluate(query, event, kStepsMost, again) == matched && again == taken);
    // With a step less there is no result.
    if (taken > 0) require(!evaluate(query, event, taken - 1, again) && again == taken - 1);

    Percolator percolator;
    percolator.put({.id = "w", .owner = "o", .types = {}, .query = query});
    Steps steps{2 * kStepsMost};
    const auto found = percolator.match(event, "o", core::Timestamp{}, steps);
    require(found.too_costly.empty() && found.ids.empty() != *matched);
    percolator.remove("w");
    require(percolator.owners().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto line = text.substr(0, text.find('\n'));
    const auto rest =
        line.size() == text.size() ? std::string_view{} : text.substr(line.size() + 1);
    const auto brackets = [](std::string_view in) {
        return std::count_if(in.begin(), in.end(), [](char c) { return c == '{' || c == '['; });
    };
    if (size > 8'192 || brackets(line) > 500 || brackets(rest) > 500) return 0;
    for (const auto from : {Query::From::owner, Query::From::log}) {
        const auto query = Query::compile(line, from);
        if (!query) {
            require(query.error().message.starts_with("$"));
            continue;
        }
        require(from == Query::From::log || query->cost() <= Query::kCostMax);
        require(query->heap_bytes() > 0);
        check(*query, event_of(rest));
    }
    return 0;
}
