#pragma once

#include "retry/filter/date.hpp"
#include "retry/filter/event_values.hpp"
#include "retry/filter/query.hpp"
#include "retry/filter/words.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

/// What a compiled query is made of: one struct for each clause of the query DSL. Only query.cpp
/// makes them.
namespace beckon::retry {

struct Query::Node {
    virtual ~Node() = default;
    virtual bool matches(const nlohmann::json& at) const = 0;
    virtual std::optional<RequiredTerms> required() const { return std::nullopt; }
};

namespace clause {

using Json = nlohmann::json;
using NodePtr = std::shared_ptr<const Query::Node>;

inline bool same(const Json& a, const Json& b) {
    if (a.is_number() && b.is_number()) return a == b;
    return a.type() == b.type() && a == b;
}

template <class F>
bool any_value(const Json& at, const std::string& field, F&& f) {
    const auto values = values_at(at, field);
    return std::any_of(values.begin(), values.end(), [&](const Json* v) { return f(*v); });
}

struct All final : Query::Node {
    bool matches(const Json&) const override { return true; }
};

struct None final : Query::Node {
    bool matches(const Json&) const override { return false; }
};

struct Terms final : Query::Node {
    std::string field;
    std::vector<Json> terms;
    bool matches(const Json& at) const override {
        return any_value(at, field, [&](const Json& value) {
            return std::any_of(terms.begin(), terms.end(),
                               [&](const Json& term) { return same(term, value); });
        });
    }
    std::optional<RequiredTerms> required() const override {
        RequiredTerms needed{.field = field, .values = {}};
        for (const auto& term : terms) needed.values.push_back(term_of(term));
        return needed;
    }
};

struct Exists final : Query::Node {
    std::string field;
    bool matches(const Json& at) const override { return !values_at(at, field).empty(); }
};

/// A string that fits a pattern: prefix and wildcard.
struct Fits final : Query::Node {
    std::string field;
    std::function<bool(std::string_view)> fits;
    bool matches(const Json& at) const override {
        return any_value(at, field, [&](const Json& value) {
            return value.is_string() && fits(value.get_ref<const std::string&>());
        });
    }
};

struct Match final : Query::Node {
    enum class How { any, all, phrase };
    std::string field;
    How how = How::any;
    std::vector<std::string> words;
    Json exact;  ///< numbers and booleans match as they are
    bool matches(const Json& at) const override {
        return any_value(at, field, [&](const Json& value) {
            if (!value.is_string() || !exact.is_string()) return same(value, exact);
            const auto there = words_of(value.get_ref<const std::string&>());
            return how == How::phrase ? has_phrase(there) : has_words(there);
        });
    }
    bool has_words(const std::vector<std::string>& there) const {
        const auto is_there = [&](const std::string& word) {
            return std::find(there.begin(), there.end(), word) != there.end();
        };
        return how == How::all ? std::all_of(words.begin(), words.end(), is_there)
                               : std::any_of(words.begin(), words.end(), is_there);
    }
    bool has_phrase(const std::vector<std::string>& there) const {
        return !words.empty() &&
               std::search(there.begin(), there.end(), words.begin(), words.end()) != there.end();
    }
};

/// A bound and a value compare as numbers, as times, or as text, whichever both are.
struct Bound {
    Json value;
    std::optional<core::Timestamp> time;

    /// -1, 0, 1: how the event's value stands to the bound; nullopt: they do not compare.
    std::optional<int> compare(const Json& other) const {
        const auto sign = [](const auto& a, const auto& b) { return a < b ? -1 : (b < a ? 1 : 0); };
        if (value.is_number() && other.is_number()) {
            return sign(other.get<double>(), value.get<double>());
        }
        if (!value.is_string() || !other.is_string()) return std::nullopt;
        const auto& text = other.get_ref<const std::string&>();
        if (!time) return sign(text, value.get_ref<const std::string&>());
        const auto other_time = parse_date(text);
        if (!other_time) return std::nullopt;
        return sign(*other_time, *time);
    }
};

struct Range final : Query::Node {
    std::string field;
    std::vector<std::pair<std::function<bool(int)>, Bound>> bounds;
    bool matches(const Json& at) const override {
        return any_value(at, field, [&](const Json& value) {
            return std::all_of(bounds.begin(), bounds.end(), [&](const auto& bound) {
                const auto order = bound.second.compare(value);
                return order && bound.first(*order);
            });
        });
    }
};

struct Bool final : Query::Node {
    std::vector<NodePtr> must;
    std::vector<NodePtr> should;
    std::vector<NodePtr> must_not;
    std::size_t should_least = 0;
    bool matches(const Json& at) const override {
        const auto holds = [&](const NodePtr& node) { return node->matches(at); };
        if (!std::all_of(must.begin(), must.end(), holds)) return false;
        if (std::any_of(must_not.begin(), must_not.end(), holds)) return false;
        if (should_least == 0) return true;
        return static_cast<std::size_t>(std::count_if(should.begin(), should.end(), holds)) >=
               should_least;
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
        return all;
    }
};

struct Nested final : Query::Node {
    std::string path;
    NodePtr query;
    bool matches(const Json& at) const override { return any_object(at, path); }
    /// Each object at the path is asked by itself, so that all of the query holds for one of them.
    bool any_object(const Json& at, std::string_view rest) const {
        if (at.is_array()) {
            return std::any_of(at.begin(), at.end(),
                               [&](const Json& one) { return any_object(one, rest); });
        }
        if (rest.empty()) return at.is_object() && query->matches(at);
        const auto dot = rest.find('.');
        if (!at.is_object()) return false;
        const auto found = at.find(std::string{rest.substr(0, dot)});
        if (found == at.end()) return false;
        return any_object(*found, dot == std::string_view::npos ? "" : rest.substr(dot + 1));
    }
};

}  // namespace clause

}  // namespace beckon::retry
