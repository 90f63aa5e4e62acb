#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "retry/filter/steps.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace beckon::retry {

/// Terms of which an event must have one at `field` for a query to match; what an index needs. The
/// texts are those of the query, which must live.
struct RequiredTerms {
    std::string_view field;
    std::vector<std::string_view> values;  ///< as term_of() writes them
    bool operator==(const RequiredTerms&) const = default;
};

/// A compiled filter: the subset of the Elasticsearch query DSL that docs/webhooks.md#filters
/// describes, over an event's JSON. What an evaluation may cost is bounded by the caller's steps,
/// and is at most the clauses times the values and the text of the event. Immutable; any thread.
class Query {
public:
    static constexpr std::size_t kDepthMax = 16;
    static constexpr std::size_t kClausesMax = 256;  ///< of all kinds together
    static constexpr std::size_t kTextMax = 1'024;   ///< bytes of a term, a path, a pattern
    static constexpr std::size_t kNamesMax = 64;     ///< of a path
    static constexpr std::size_t kCostMax = 8'192;   ///< of cost()

    enum class From : std::uint8_t {
        owner,  ///< it is submitted: it must keep kNamesMax and kCostMax
        log,    ///< it was accepted, perhaps by a version that did not know these two limits
    };

    /// Errors: invalid; the message begins with the JSON path of the fault: `$.bool.must[1].range`.
    static core::Result<Query> compile(const nlohmann::json& query, From from = From::owner);
    /// The same from text; errors also for what is no JSON.
    static core::Result<Query> compile(std::string_view text, From from = From::owner);

    /// Whether the event matches; `now` is that of date math. nullopt: it took all steps that were
    /// left, and nobody knows.
    std::optional<bool> matches(const nlohmann::json& event, core::Timestamp now,
                                Steps& steps) const;

    /// The clause that narrows best by itself; nullopt if none must hold.
    std::optional<RequiredTerms> required() const;

    /// The product that a filter may not drive up: the names of the path times one and the
    /// wildcards, of all clauses together.
    std::size_t cost() const { return cost_; }
    /// What it holds in memory, without itself.
    std::size_t heap_bytes() const;

    struct Node;

private:
    explicit Query(std::shared_ptr<const Node> root);
    std::shared_ptr<const Node> root_;
    std::size_t cost_;
};

}  // namespace beckon::retry
