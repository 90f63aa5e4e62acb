#include "retry/event/filter/query.hpp"

#include "core/ascii.hpp"
#include "core/overloaded.hpp"
#include "retry/event/filter/clauses.hpp"
#include "retry/event/filter/date.hpp"
#include "retry/event/filter/heap.hpp"
#include "retry/event/filter/words.hpp"

#include <algorithm>
#include <compare>

namespace beckon::retry {

namespace {

using namespace clause;
using Node = Query::Node;
using Value = JsonTree::Value;
using Order = std::partial_ordering;

/// The context of an evaluation, beside the present value.
struct Evaluation {
    core::Timestamp now;
    Steps& steps;
};

bool matches(const Node& node, const Value& at, const Evaluation& eval);

bool exists(const Value& value, Steps& steps) {
    if (!steps.take() || value.is_null()) return false;
    const auto found = [&](const Value& one) { return exists(one, steps) || steps.exhausted(); };
    if (value.is_list()) return value.any_element(found);
    if (!value.is_object()) return true;
    return value.any_member([&](std::string_view, const Value& one) { return found(one); });
}

/// Calls `f` with each word of a text, in lower case, until it is true; with "" for those that are
/// longer than any of a query.
template <class F>
bool any_word(const Value& value, Steps& steps, F&& f) {
    if (!value.is_text() || !steps.take_text(value.text().size())) return false;
    auto text = value.text();
    for (auto word = take_word(text); !word.empty(); word = take_word(text)) {
        if (!steps.take()) return false;
        if (f(word.size() > Query::kTextMax ? std::string{} : core::lower(word))) return true;
    }
    return false;
}

/// How a value stands to the bound; unordered: they do not compare.
Order compare(const Value& value, const Bound& bound, const Evaluation& eval) {
    if (const auto* number = std::get_if<Number>(&bound.value)) {
        return value.is_number() ? value.number() <=> *number : Order::unordered;
    }
    if (!value.is_text()) return Order::unordered;
    if (const auto* text = std::get_if<std::string>(&bound.value)) {
        if (!eval.steps.take_text(text->size())) return Order::unordered;
        return value.text() <=> std::string_view{*text};
    }
    if (!eval.steps.take_text(value.text().size())) return Order::unordered;
    const auto time = parse_date(value.text());
    if (!time) return Order::unordered;
    if (const auto* fixed = std::get_if<core::Timestamp>(&bound.value)) return *time <=> *fixed;
    const bool up = bound.side == Bound::Side::gt || bound.side == Bound::Side::lte;
    const auto round = up ? DateMath::Round::up : DateMath::Round::down;
    return *time <=> std::get<DateMath>(bound.value).at(eval.now, round);
}

bool holds(const Value& value, const Bound& bound, const Evaluation& eval) {
    const auto order = compare(value, bound, eval);
    switch (bound.side) {
        case Bound::Side::gt: return order > 0;
        case Bound::Side::gte: return order >= 0;
        case Bound::Side::lt: return order < 0;
        case Bound::Side::lte: return order <= 0;
    }
    return false;
}

/// Whether a clause holds for a value at its path. Means nothing once the steps are exhausted;
/// every loop ends then.
struct Holds {
    const Value& value;
    const Evaluation& eval;

    bool operator()(const Terms& clause) const {
        const auto term = term_of(value);
        return term && eval.steps.take_text(term->size()) &&
               std::binary_search(clause.terms.begin(), clause.terms.end(), *term);
    }
    bool operator()(const Exists&) const { return exists(value, eval.steps); }
    bool operator()(const Prefix& clause) const {
        return value.is_text() && eval.steps.take_text(clause.start.size()) &&
               value.text().starts_with(clause.start);
    }
    bool operator()(const Wildcard& pattern) const {
        if (!value.is_text()) return false;
        const auto text = value.text();
        // A code point costs more than a byte that is only compared.
        return eval.steps.take(1 + text.size() * (1 + pattern.words()) / 8) && pattern.fits(text);
    }
    bool operator()(const Words& clause) const {
        const auto& words = clause.words;
        std::vector<bool> seen(words.size());
        std::size_t count = 0;
        return any_word(value, eval.steps, [&](const std::string& word) {
            const auto found = std::lower_bound(words.begin(), words.end(), word);
            if (found == words.end() || *found != word) return false;
            auto was_seen = seen[static_cast<std::size_t>(found - words.begin())];
            count += was_seen ? 0 : 1;
            was_seen = true;
            return count >= clause.least;
        });
    }
    bool operator()(const Phrase& clause) const {
        std::size_t have = 0;
        return any_word(value, eval.steps, [&](const std::string& word) {
            have = clause.next(have, word);
            return have == clause.words.size();
        });
    }
    bool operator()(const Range& clause) const {
        return eval.steps.take(clause.bounds.size()) &&
               std::all_of(clause.bounds.begin(), clause.bounds.end(),
                           [&](const Bound& bound) { return holds(value, bound, eval); });
    }
    bool operator()(const Nested& clause) const {
        return value.is_object() && matches(*clause.query, value, eval);
    }
};

bool matches(const Node& node, const Value& at, const Evaluation& eval) {
    if (const auto* one = std::get_if<AtPath>(&node.is)) {
        return one->path.any(at, eval.steps, [&](const Value& value) {
            return std::visit(Holds{value, eval}, one->clause);
        });
    }
    const auto& all = std::get<Bool>(node.is);
    if (!eval.steps.take()) return false;
    const auto does_match = [&](const Node& one) { return matches(one, at, eval); };
    if (!std::all_of(all.must.begin(), all.must.end(), does_match)) return false;
    if (std::any_of(all.must_not.begin(), all.must_not.end(), does_match)) return false;
    std::size_t missing = all.should_least;
    for (const auto& one : all.should) {
        if (missing == 0 || eval.steps.exhausted()) break;
        if (does_match(one)) --missing;
    }
    return missing == 0;
}

std::optional<RequiredTerms> required_by(const Node& node);

/// All terms of clauses about one field together.
std::optional<RequiredTerms> required_by_one_of(const std::vector<Node>& nodes) {
    std::optional<RequiredTerms> all;
    for (const auto& node : nodes) {
        auto one = required_by(node);
        if (!one || (all && all->field != one->field)) return std::nullopt;
        if (!all) all = RequiredTerms{.field = one->field, .values = {}};
        all->values.insert(all->values.end(), one->values.begin(), one->values.end());
    }
    if (!all) return all;
    std::sort(all->values.begin(), all->values.end());
    all->values.erase(std::unique(all->values.begin(), all->values.end()), all->values.end());
    return all;
}

/// The shortest list of those that must hold.
std::optional<RequiredTerms> required_by(const Node& node) {
    if (const auto* one = std::get_if<AtPath>(&node.is)) {
        const auto* clause = std::get_if<Terms>(&one->clause);
        if (!clause) return std::nullopt;
        return RequiredTerms{.field = one->path.text(),
                             .values = {clause->terms.begin(), clause->terms.end()}};
    }
    const auto& all = std::get<Bool>(node.is);
    auto best = all.should_least > 0 ? required_by_one_of(all.should) : std::nullopt;
    for (const auto& must : all.must) {
        auto one = required_by(must);
        if (one && (!best || one->values.size() < best->values.size())) best = std::move(one);
    }
    return best;
}

template <class F>
std::size_t sum_of(const Bool& all, F&& of) {
    std::size_t sum = 0;
    for (const auto* list : {&all.must, &all.should, &all.must_not}) {
        for (const auto& node : *list) sum += of(node);
    }
    return sum;
}

std::size_t cost_of(const Node& node) {
    if (const auto* all = std::get_if<Bool>(&node.is)) return 1 + sum_of(*all, cost_of);
    const auto& [path, clause] = std::get<AtPath>(node.is);
    if (const auto* nested = std::get_if<Nested>(&clause)) {
        return path.names() + cost_of(*nested->query);
    }
    const auto each = core::Overloaded{
        [](const Wildcard& pattern) { return 1 + pattern.wildcards(); },
        [](const Range& range) { return range.bounds.size(); },
        [](const auto&) { return std::size_t{1}; },
    };
    return path.names() * std::visit(each, clause);
}

std::size_t heap_of_texts(const std::vector<std::string>& texts) {
    auto sum = heap_of(texts);
    for (const auto& text : texts) sum += heap_of(text);
    return sum;
}

/// Beside the node itself.
std::size_t heap_of_node(const Node& node) {
    if (const auto* all = std::get_if<Bool>(&node.is)) {
        return heap_of(all->must) + heap_of(all->should) + heap_of(all->must_not) +
               sum_of(*all, heap_of_node);
    }
    const auto of_bound = core::Overloaded{
        [](const std::string& text) { return heap_of(text); },
        [](const DateMath& math) { return math.heap_bytes(); },
        [](const auto&) { return std::size_t{0}; },
    };
    const auto of_clause = core::Overloaded{
        [](const Terms& clause) { return heap_of_texts(clause.terms); },
        [](const Exists&) { return std::size_t{0}; },
        [](const Prefix& clause) { return heap_of(clause.start); },
        [](const Wildcard& pattern) { return pattern.heap_bytes(); },
        [](const Words& clause) { return heap_of_texts(clause.words); },
        [](const Phrase& clause) { return heap_of_texts(clause.words) + heap_of(clause.back); },
        [&](const Range& clause) {
            auto sum = heap_of(clause.bounds);
            for (const auto& bound : clause.bounds) sum += std::visit(of_bound, bound.value);
            return sum;
        },
        [](const Nested& clause) { return heap_of_shared<Node>() + heap_of_node(*clause.query); },
    };
    const auto& [path, clause] = std::get<AtPath>(node.is);
    return path.heap_bytes() + std::visit(of_clause, clause);
}

}  // namespace

std::optional<std::string> term_of(const Value& value) {
    if (value.is_number()) return number_term(value.number());
    if (value.is_boolean()) return boolean_term(value.boolean());
    if (!value.is_text() || value.text().size() > Query::kTextMax) return std::nullopt;
    return text_term(value.text());
}

Query::Query(std::shared_ptr<const Node> root) : root_(std::move(root)), cost_(cost_of(*root_)) {}

std::optional<bool> Query::matches(const JsonTree& event, core::Timestamp now, Steps& steps) const {
    const bool matched = retry::matches(*root_, event.root(), {.now = now, .steps = steps});
    if (steps.exhausted()) return std::nullopt;
    return matched;
}

std::optional<RequiredTerms> Query::required() const { return required_by(*root_); }
std::size_t Query::heap_bytes() const { return heap_of_shared<Node>() + heap_of_node(*root_); }

}  // namespace beckon::retry
