#pragma once

#include "retry/filter/date.hpp"
#include "retry/filter/date_math.hpp"
#include "retry/filter/field_path.hpp"
#include "retry/filter/heap.hpp"
#include "retry/filter/json_tree.hpp"
#include "retry/filter/query.hpp"
#include "retry/filter/scalars.hpp"
#include "retry/filter/steps.hpp"
#include "retry/filter/wildcard.hpp"
#include "retry/filter/words.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

/// The parts of a compiled query: one struct for each clause of the query DSL. Only query.cpp
/// makes them.
namespace beckon::retry {

struct Query::Node {
    using Value = JsonTree::Value;
    /// The context of an evaluation, beside the present value.
    struct Evaluation {
        core::Timestamp now;
        Steps& steps;
    };

    virtual ~Node() = default;
    /// Means nothing once the steps are exhausted; every loop ends then.
    virtual bool matches(const Value& at, const Evaluation& eval) const = 0;
    virtual std::optional<RequiredTerms> required() const { return std::nullopt; }
    /// As Query::cost() and Query::heap_bytes() have it; with itself.
    virtual std::size_t cost() const = 0;
    virtual std::size_t bytes() const = 0;
};

namespace clause {

using Json = nlohmann::json;
using Value = JsonTree::Value;
using Evaluation = Query::Node::Evaluation;
using NodePtr = std::shared_ptr<const Query::Node>;

/// A node with the counts of its owners, as std::make_shared puts them into one block.
template <class T>
std::size_t block_of() {
    return heap_block(sizeof(T) + 2 * sizeof(void*));
}

inline std::size_t bytes_of(const std::vector<std::string>& texts) {
    auto sum = heap_of(texts);
    for (const auto& text : texts) sum += heap_of(text);
    return sum;
}

/// A clause about the values at a path. `T::more_bytes()`: what it holds on the heap beside it.
template <class T>
struct AtPath : Query::Node {
    explicit AtPath(std::string field) : path(std::move(field)) {}
    const FieldPath path;
    std::size_t cost() const override { return path.names(); }
    std::size_t bytes() const override {
        return block_of<T>() + path.heap_bytes() + static_cast<const T&>(*this).more_bytes();
    }
};

struct All final : Query::Node {
    bool matches(const Value&, const Evaluation&) const override { return true; }
    std::size_t cost() const override { return 1; }
    std::size_t bytes() const override { return block_of<All>(); }
};

struct None final : Query::Node {
    bool matches(const Value&, const Evaluation&) const override { return false; }
    std::size_t cost() const override { return 1; }
    std::size_t bytes() const override { return block_of<None>(); }
};

struct Terms final : AtPath<Terms> {
    Terms(std::string field, const std::vector<Json>& values) : AtPath(std::move(field)) {
        terms.reserve(values.size());
        for (const auto& value : values) terms.push_back(term_of(value));
        std::sort(terms.begin(), terms.end());
        terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
        terms.shrink_to_fit();
    }

    std::vector<std::string> terms;  ///< as term_of() writes them, ascending, each once

    bool matches(const Value& at, const Evaluation& eval) const override {
        return path.any_scalar(at, eval.steps, [&](const Value& value) {
            const auto term = term_of(value);
            return term && eval.steps.take_text(term->size()) &&
                   std::binary_search(terms.begin(), terms.end(), *term);
        });
    }
    std::optional<RequiredTerms> required() const override {
        return RequiredTerms{.field = path.text(), .values = {terms.begin(), terms.end()}};
    }
    std::size_t more_bytes() const { return bytes_of(terms); }
};

/// Something at the path that is not null: a value, or an object in which something exists.
struct Exists final : AtPath<Exists> {
    explicit Exists(std::string field) : AtPath(std::move(field)) {}

    bool matches(const Value& at, const Evaluation& eval) const override {
        return path.any(at, eval.steps,
                        [&](const Value& value) { return is_there(value, eval.steps); });
    }
    static bool is_there(const Value& value, Steps& steps) {
        if (!steps.take() || value.is_null()) return false;
        const auto found = [&](const Value& one) {
            return is_there(one, steps) || steps.exhausted();
        };
        if (value.is_list()) return value.any_element(found);
        if (!value.is_object()) return true;
        return value.any_member([&](std::string_view, const Value& one) { return found(one); });
    }
    static std::size_t more_bytes() { return 0; }
};

struct Prefix final : AtPath<Prefix> {
    Prefix(std::string field, std::string text)
        : AtPath(std::move(field)), start(std::move(text)) {}

    const std::string start;

    bool matches(const Value& at, const Evaluation& eval) const override {
        return path.any_scalar(at, eval.steps, [&](const Value& value) {
            return value.is_text() && eval.steps.take_text(start.size()) &&
                   value.text().starts_with(start);
        });
    }
    std::size_t more_bytes() const { return heap_of(start); }
};

struct Fits final : AtPath<Fits> {
    Fits(std::string field, std::string_view text) : AtPath(std::move(field)), pattern(text) {}

    const Wildcard pattern;

    bool matches(const Value& at, const Evaluation& eval) const override {
        return path.any_scalar(at, eval.steps, [&](const Value& value) {
            if (!value.is_text()) return false;
            const auto text = value.text();
            // A code point costs more than a byte that is only compared.
            return eval.steps.take(1 + text.size() * (1 + pattern.words()) / 8) &&
                   pattern.fits(text);
        });
    }
    std::size_t cost() const override { return path.names() * (1 + pattern.wildcards()); }
    std::size_t more_bytes() const { return pattern.heap_bytes(); }
};

/// Numbers and booleans match as they are.
struct MatchScalar final : AtPath<MatchScalar> {
    MatchScalar(std::string field, const Json& scalar)
        : AtPath(std::move(field)), term(term_of(scalar)) {}

    const std::string term;

    bool matches(const Value& at, const Evaluation& eval) const override {
        return path.any_scalar(at, eval.steps, [&](const Value& value) {
            return !value.is_text() && eval.steps.take() && term_of(value) == term;
        });
    }
    std::size_t more_bytes() const { return heap_of(term); }
};

/// Calls `f` with each word of the text, folded, until it is true; with "" for those that are
/// longer than any of a query.
template <class F>
bool any_word(std::string_view text, Steps& steps, F&& f) {
    if (!steps.take_text(text.size())) return false;
    for (auto word = take_word(text); !word.empty(); word = take_word(text)) {
        if (!steps.take()) return false;
        if (f(word.size() > Query::kTextMax ? std::string{} : folded(word))) return true;
    }
    return false;
}

/// Text with at least so many of the words.
struct MatchWords final : AtPath<MatchWords> {
    MatchWords(std::string field, std::vector<std::string> all)
        : AtPath(std::move(field)), words(std::move(all)) {
        std::sort(words.begin(), words.end());
        words.erase(std::unique(words.begin(), words.end()), words.end());
    }

    std::vector<std::string> words;  ///< folded, ascending, each once
    std::size_t least = 1;

    bool matches(const Value& at, const Evaluation& eval) const override {
        if (least == 0) return true;
        return path.any_scalar(at, eval.steps, [&](const Value& value) {
            return value.is_text() && has_words(value.text(), eval.steps);
        });
    }
    bool has_words(std::string_view text, Steps& steps) const {
        std::vector<bool> seen(words.size());
        std::size_t count = 0;
        return any_word(text, steps, [&](const std::string& word) {
            const auto found = std::lower_bound(words.begin(), words.end(), word);
            if (found == words.end() || *found != word) return false;
            auto was_seen = seen[static_cast<std::size_t>(found - words.begin())];
            count += was_seen ? 0 : 1;
            was_seen = true;
            return count >= least;
        });
    }
    std::size_t more_bytes() const { return bytes_of(words); }
};

/// Text with the words one after the other (Knuth, Morris, Pratt: each word is read once).
struct MatchPhrase final : AtPath<MatchPhrase> {
    MatchPhrase(std::string field, std::vector<std::string> all)
        : AtPath(std::move(field)), words(std::move(all)), back(words.size()) {
        for (std::size_t i = 1, at = 0; i < words.size(); ++i) {
            at = next(at, words[i]);
            back[i] = static_cast<std::uint32_t>(at);
        }
    }

    std::vector<std::string> words;
    /// For the words up to each one: the number of the last words that are also the first words of
    /// the phrase.
    std::vector<std::uint32_t> back;

    /// How many words of the phrase end with `word`, after `at` of them.
    std::size_t next(std::size_t at, const std::string& word) const {
        while (at > 0 && words[at] != word) at = back[at - 1];
        return words[at] == word ? at + 1 : 0;
    }
    bool matches(const Value& at, const Evaluation& eval) const override {
        return path.any_scalar(at, eval.steps, [&](const Value& value) {
            if (!value.is_text()) return false;
            std::size_t have = 0;
            return any_word(value.text(), eval.steps, [&](const std::string& word) {
                have = next(have, word);
                return have == words.size();
            });
        });
    }
    std::size_t more_bytes() const { return bytes_of(words) + heap_of(back); }
};

/// A bound and a value compare as numbers, as times, or as text, whichever both are.
struct Bound {
    enum class Side : std::uint8_t { gt, gte, lt, lte };
    Side side = Side::gt;
    std::optional<Number> number{};  ///< or else it has a text
    std::string text{};
    std::optional<core::Timestamp> time{};
    std::optional<DateMath> math{};

    /// -1, 0, 1: how the event's value stands to the bound; nullopt: they do not compare.
    std::optional<int> compare(const Value& other, const Evaluation& eval) const {
        if (number && other.is_number()) return compare_numbers(other.number(), *number);
        if (number || !other.is_text()) return std::nullopt;
        const auto sign = [](const auto& a, const auto& b) { return a < b ? -1 : (b < a ? 1 : 0); };
        if (!time && !math) {
            if (!eval.steps.take_text(text.size())) return std::nullopt;
            return sign(other.text(), std::string_view{text});
        }
        if (!eval.steps.take_text(other.text().size())) return std::nullopt;
        const auto other_time = parse_date(other.text());
        if (!other_time) return std::nullopt;
        const bool up = side == Side::gt || side == Side::lte;
        return sign(
            *other_time,
            time ? *time : math->at(eval.now, up ? DateMath::Round::up : DateMath::Round::down));
    }
    bool holds(const Value& other, const Evaluation& eval) const {
        const auto order = compare(other, eval);
        if (!order) return false;
        switch (side) {
            case Side::gt: return *order > 0;
            case Side::gte: return *order >= 0;
            case Side::lt: return *order < 0;
            case Side::lte: return *order <= 0;
        }
        return false;
    }
    std::size_t heap_bytes() const { return heap_of(text) + (math ? math->heap_bytes() : 0); }
};

struct Range final : AtPath<Range> {
    explicit Range(std::string field) : AtPath(std::move(field)) {}

    std::vector<Bound> bounds;

    bool matches(const Value& at, const Evaluation& eval) const override {
        return path.any_scalar(at, eval.steps, [&](const Value& value) {
            return eval.steps.take(bounds.size()) &&
                   std::all_of(bounds.begin(), bounds.end(),
                               [&](const Bound& bound) { return bound.holds(value, eval); });
        });
    }
    std::size_t cost() const override { return path.names() * bounds.size(); }
    std::size_t more_bytes() const {
        auto sum = heap_of(bounds);
        for (const auto& bound : bounds) sum += bound.heap_bytes();
        return sum;
    }
};

struct Bool final : Query::Node {
    std::vector<NodePtr> must;
    std::vector<NodePtr> should;
    std::vector<NodePtr> must_not;
    std::size_t should_least = 0;

    bool matches(const Value& at, const Evaluation& eval) const override {
        if (!eval.steps.take()) return false;
        const auto holds = [&](const NodePtr& node) { return node->matches(at, eval); };
        if (!std::all_of(must.begin(), must.end(), holds)) return false;
        if (std::any_of(must_not.begin(), must_not.end(), holds)) return false;
        std::size_t missing = should_least;
        for (const auto& node : should) {
            if (missing == 0 || eval.steps.exhausted()) break;
            if (holds(node)) --missing;
        }
        return missing == 0;
    }
    /// The shortest list of those that must hold; of `should`, all lists of one field together.
    std::optional<RequiredTerms> required() const override {
        std::optional<RequiredTerms> best = required_of_should();
        for (const auto& node : must) {
            auto one = node->required();
            if (one && (!best || one->values.size() < best->values.size())) best = std::move(one);
        }
        return best;
    }
    std::optional<RequiredTerms> required_of_should() const {
        if (should_least == 0) return std::nullopt;
        std::optional<RequiredTerms> all;
        for (const auto& node : should) {
            auto one = node->required();
            if (!one || (all && all->field != one->field)) return std::nullopt;
            if (!all) {
                all = std::move(one);
            } else {
                all->values.insert(all->values.end(), one->values.begin(), one->values.end());
            }
        }
        if (!all) return all;
        auto& values = all->values;
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        return all;
    }
    template <class F>
    std::size_t sum_of(F&& f) const {
        std::size_t sum = 0;
        for (const auto* list : {&must, &should, &must_not}) {
            for (const auto& node : *list) sum += f(*node);
        }
        return sum;
    }
    std::size_t cost() const override {
        return 1 + sum_of([](const Query::Node& node) { return node.cost(); });
    }
    std::size_t bytes() const override {
        return block_of<Bool>() + heap_of(must) + heap_of(should) + heap_of(must_not) +
               sum_of([](const Query::Node& node) { return node.bytes(); });
    }
};

/// Each object at the path is asked by itself, so that all of the query holds for one of them.
struct Nested final : AtPath<Nested> {
    Nested(std::string field, NodePtr inner) : AtPath(std::move(field)), query(std::move(inner)) {}

    const NodePtr query;

    bool matches(const Value& at, const Evaluation& eval) const override {
        return path.any(at, eval.steps, [&](const Value& value) {
            return value.is_object() && query->matches(value, eval);
        });
    }
    std::size_t cost() const override { return path.names() + query->cost(); }
    std::size_t more_bytes() const { return query->bytes(); }
};

}  // namespace clause

}  // namespace beckon::retry
