#pragma once

#include "core/clock.hpp"
#include "retry/event/filter/date_math.hpp"
#include "retry/event/filter/field_path.hpp"
#include "retry/event/filter/query.hpp"
#include "retry/event/filter/scalars.hpp"
#include "retry/event/filter/wildcard.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

/// The parts of a compiled query: query_compiler.cpp makes them, and query.cpp evaluates them.
namespace beckon::retry::clause {

/// A string, a number or a boolean that is one of the terms.
struct Terms {
    std::vector<std::string> terms;  ///< as term_of() writes them, ascending, each once
};

/// Something that is not null: a value, or an object in which something exists.
struct Exists {};

struct Prefix {
    std::string start;
};

/// Text with at least so many of the words.
struct Words {
    std::vector<std::string> words;  ///< in lower case, ascending, each once
    std::size_t least = 1;
};

/// Text with the words one after the other (Knuth, Morris, Pratt: each word is read once).
struct Phrase {
    explicit Phrase(std::vector<std::string> all) : words(std::move(all)), back(words.size()) {
        for (std::size_t i = 1, at = 0; i < words.size(); ++i) {
            at = next(at, words[i]);
            back[i] = static_cast<std::uint32_t>(at);
        }
    }
    /// How many words of the phrase end with `word`, after `at` of them.
    std::size_t next(std::size_t at, const std::string& word) const {
        while (at > 0 && words[at] != word) at = back[at - 1];
        return words[at] == word ? at + 1 : 0;
    }

    std::vector<std::string> words;  ///< in lower case
    /// For the words up to each one: the number of the last words that are also the first words of
    /// the phrase.
    std::vector<std::uint32_t> back;
};

/// A bound and a value compare as numbers, as times, or as text, whichever both are.
struct Bound {
    enum class Side : std::uint8_t { gt, gte, lt, lte };
    Side side = Side::gt;
    std::variant<Number, std::string, core::Timestamp, DateMath> value;
};
struct Range {
    std::vector<Bound> bounds;
};

/// Each object at the path is asked by itself, so that all of the query holds for one of them.
struct Nested {
    std::shared_ptr<const Query::Node> query;
};

using Clause = std::variant<Terms, Exists, Prefix, Wildcard, Words, Phrase, Range, Nested>;

/// A clause about the values at a path.
struct AtPath {
    FieldPath path;
    Clause clause;
};

/// Without any clause it matches everything, and where one of none is missing nothing.
struct Bool {
    std::vector<Query::Node> must;
    std::vector<Query::Node> should;
    std::vector<Query::Node> must_not;
    std::size_t should_least = 0;
};

}  // namespace beckon::retry::clause

namespace beckon::retry {

struct Query::Node {
    std::variant<clause::AtPath, clause::Bool> is;
};

}  // namespace beckon::retry
