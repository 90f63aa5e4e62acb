#pragma once

#include "core/result.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace beckon::retry {

/// Terms of which an event must have one at `field` for a query to match; what an index needs.
struct RequiredTerms {
    std::string field;
    std::vector<std::string> values;  ///< as term_of() writes them
    bool operator==(const RequiredTerms&) const = default;
};

/// A compiled filter: the subset of the Elasticsearch query DSL that docs/webhooks.md#filters
/// describes, over an event's JSON. Immutable; any thread.
class Query {
public:
    static constexpr std::size_t kDepthMax = 16;
    static constexpr std::size_t kClausesMax = 256;  ///< of all kinds together
    static constexpr std::size_t kTextMax = 1'024;   ///< bytes of a term, a path, a pattern

    /// Errors: invalid; the message begins with the JSON path of the fault: `$.bool.must[1].range`.
    static core::Result<Query> compile(const nlohmann::json& query);
    /// The same from text; errors also for what is no JSON.
    static core::Result<Query> compile(std::string_view text);

    bool matches(const nlohmann::json& event) const;

    /// The clause that narrows best by itself; nullopt if none must hold.
    std::optional<RequiredTerms> required() const;

    struct Node;

private:
    explicit Query(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
    std::shared_ptr<const Node> root_;
};

}  // namespace beckon::retry
