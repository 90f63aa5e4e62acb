#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "retry/event/filter/json_tree.hpp"
#include "retry/event/filter/steps.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace beckon::retry {

/// The terms of which an event must have one at `field` for a query to match; an index uses them.
/// Views into the query, which must live.
struct RequiredTerms {
    std::string_view field;
    std::vector<std::string_view> values;  ///< as term_of() writes them
    bool operator==(const RequiredTerms&) const = default;
};

/// The term of a string, a number or a boolean of an event; nullopt: its text is longer than any
/// term of a query.
std::optional<std::string> term_of(const JsonTree::Value& scalar);

/// A compiled filter: the subset of the Elasticsearch query DSL that docs/webhooks.md#filters
/// describes, over an event's JSON. The caller's steps bound the cost of an evaluation, which is at
/// most the number of clauses times the values and the text of the event. Immutable; any thread.
class Query {
public:
    static constexpr std::size_t kDepthMax = 16;
    static constexpr std::size_t kClausesMax = 256;  ///< of all kinds together
    static constexpr std::size_t kTextMax = 1'024;   ///< bytes of a term, a path, a pattern
    static constexpr std::size_t kNamesMax = 64;     ///< of a path
    static constexpr std::size_t kCostMax = 8'192;   ///< of cost()

    enum class From : std::uint8_t {
        owner,  ///< an owner submits it: it must keep kNamesMax and kCostMax
        log,    ///< it was accepted, perhaps by a version without these two limits
    };

    /// Errors: invalid; the message begins with the JSON path of the fault: `$.bool.must[1].range`.
    static core::Result<Query> compile(const nlohmann::json& query, From from = From::owner);
    /// Compiles the text of a query. Errors: also invalid for text that is not JSON.
    static core::Result<Query> compile(std::string_view text, From from = From::owner);

    /// Whether the event matches; `now` is that of date math. nullopt: the steps were exhausted
    /// before there was a result.
    std::optional<bool> matches(const JsonTree& event, core::Timestamp now, Steps& steps) const;

    /// The required terms of the most selective clause; nullopt if no clause must hold.
    std::optional<RequiredTerms> required() const;

    /// The factor of the cost that follows from the filter: (names of the path) × (1 + wildcards),
    /// summed over all clauses.
    std::size_t cost() const { return cost_; }
    /// The bytes that it holds on the heap.
    std::size_t heap_bytes() const;

    struct Node;

private:
    explicit Query(std::shared_ptr<const Node> root);
    std::shared_ptr<const Node> root_;
    std::size_t cost_;
};

}  // namespace beckon::retry
