#include "retry/filter/query.hpp"

#include "core/json_text.hpp"
#include "retry/filter/clauses.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

using namespace clause;

/// The fault of a query, and its JSON path.
struct Broken {
    std::string path;
    std::string why;
};

constexpr const char* kBoost = "boost";

bool is_one_of(std::string_view name, std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Scores order the results of a search; a filter has none, so a boost is checked and has no
/// effect.
void check_boost(const Json& object, const std::string& path) {
    const auto found = object.find(kBoost);
    if (found == object.end()) return;
    const bool good =
        found->is_number() && std::isfinite(found->get<double>()) && found->get<double>() >= 0;
    if (!good) throw Broken{path + "." + kBoost, "must be a number that is not below 0"};
}

/// Nothing but these, and `boost`.
void only_members(const Json& value, const std::string& path,
                  std::initializer_list<const char*> names) {
    if (!value.is_object()) throw Broken{path, "must be an object"};
    for (const auto& [key, ignored] : value.items()) {
        if (key != kBoost && !is_one_of(key, names)) {
            throw Broken{path + "." + key, "is not known here"};
        }
    }
    check_boost(value, path);
}

const Json& member(const Json& object, const char* name, const std::string& path) {
    const auto found = object.find(name);
    if (found == object.end()) throw Broken{path, std::string{"lacks `"} + name + "`"};
    return *found;
}

/// The one member, besides `boost` where that may stand.
std::pair<std::string, const Json&> only_member(const Json& value, const std::string& path,
                                                const char* what, bool boosted) {
    const auto extra = boosted && value.is_object() && value.contains(kBoost) ? 1U : 0U;
    if (!value.is_object() || value.size() != 1 + extra) {
        throw Broken{path, std::string{"must be an object with one member, "} + what};
    }
    if (extra != 0) check_boost(value, path);
    auto found = value.begin();
    if (extra != 0 && found.key() == kBoost) ++found;
    return {found.key(), found.value()};
}

std::string checked_text(const std::string& text, const std::string& path) {
    if (text.empty() || text.size() > Query::kTextMax) {
        throw Broken{path, "must have 1 to 1024 bytes of text"};
    }
    return text;
}

std::string text_of(const Json& value, const std::string& path) {
    if (!value.is_string()) throw Broken{path, "must be a string"};
    return checked_text(value.get_ref<const std::string&>(), path);
}

const Json& scalar_of(const Json& value, const std::string& path) {
    if (!value.is_string() && !value.is_number() && !value.is_boolean()) {
        throw Broken{path, "must be a string, a number or a boolean"};
    }
    if (value.is_string() && value.get_ref<const std::string&>().size() > Query::kTextMax) {
        throw Broken{path, "must have at most 1024 bytes"};
    }
    return value;
}

/// `value` itself, or its member `name` if it is an object, as the long forms have it.
const Json& short_or_long(const Json& value, const char* name,
                          std::initializer_list<const char*> others, std::string& path) {
    if (!value.is_object()) return value;
    for (const auto& [key, ignored] : value.items()) {
        if (key != name && key != kBoost && !is_one_of(key, others)) {
            throw Broken{path + "." + key, "is not known here"};
        }
    }
    check_boost(value, path);
    const auto& found = member(value, name, path);
    path += std::string{"."} + name;
    return found;
}

std::vector<Json> term_list(const Json& list, const std::string& path) {
    if (!list.is_array() || list.size() > Query::kClausesMax) {
        throw Broken{path, "must be a list of at most 256 values"};
    }
    std::vector<Json> terms;
    terms.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        terms.push_back(scalar_of(list[i], path + "[" + std::to_string(i) + "]"));
    }
    return terms;
}

/// How many of `count` must hold: a number or a percentage, or if it is below zero, how many may
/// fail.
std::size_t least_of(const Json& value, std::size_t count, const std::string& path) {
    const auto refuse = [&] {
        throw Broken{path, "must be a number up to " + std::to_string(count) +
                               " or a percentage (\"75%\"), of those that must hold, or below 0 of "
                               "those that need not"};
    };
    const auto whole = static_cast<std::int64_t>(count);
    std::int64_t number = 0;
    if (value.is_number_integer()) {
        const auto given = number_of(value);
        if (compare_numbers(given, whole) > 0 || compare_numbers(given, -whole) < 0) refuse();
        number = value.get<std::int64_t>();
    } else if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        const auto* const end = text.data() + text.size();
        const auto [at, fault] = std::from_chars(text.data(), end, number);
        const bool percent = at != end && *at == '%';
        if (fault != std::errc{} || at + (percent ? 1 : 0) != end) refuse();
        const auto most = percent ? 100 : whole;
        if (number > most || number < -most) refuse();
        const bool below = text.starts_with('-');
        if (percent) number = number * whole / 100;
        if (percent && below && number == 0) return count;
    } else {
        refuse();
    }
    return static_cast<std::size_t>(number < 0 ? whole + number : number);
}

class Compiler {
public:
    explicit Compiler(Query::From from) : from_(from) {}

    /// The query, or the whole body of a search that has nothing else: `{"query": …}`.
    NodePtr compile_all(const Json& query) {
        const std::string path = "$";
        if (!query.is_object() || !query.contains("query")) return compile(query, path, 0);
        for (const auto& [key, ignored] : query.items()) {
            if (key != "query") throw Broken{path + "." + key, "is not known here"};
        }
        return compile(query.at("query"), path + ".query", 0);
    }

private:
    NodePtr compile(const Json& query, const std::string& path, std::size_t depth) {
        if (depth > Query::kDepthMax) throw Broken{path, "is nested too deeply"};
        if (++clauses_ > Query::kClausesMax) throw Broken{path, "has too many clauses"};
        const auto& [name, body] = only_member(query, path, "a query", false);
        const auto at = path + "." + name;
        if (name == "bool") return boolean(body, at, depth);
        if (name == "constant_score") return constant_score(body, at, depth);
        if (name == "nested") return nested(body, at, depth);
        if (name == "match_all") return empty<All>(body, at);
        if (name == "match_none") return empty<None>(body, at);
        if (name == "ids") return ids(body, at);
        if (name == "exists") return exists(body, at);
        if (name == "term") return term(body, at);
        if (name == "terms") return terms(body, at);
        if (name == "prefix") return prefix(body, at);
        if (name == "wildcard") return wildcard(body, at);
        if (name == "match") return match(body, at);
        if (name == "match_phrase") return match_phrase(body, at);
        if (name == "range") return range(body, at);
        throw Broken{at, "is no query that Beckon knows"};
    }

    // ------------------------------------------------------------------------------- the fields

    /// Where a path begins: at the event, or at the objects of a nested query.
    struct Scope {
        std::string full;     ///< from the event on
        std::string written;  ///< as the query has it
    };

    /// A path inside of a nested query is one from its objects on. Elasticsearch has it from the
    /// event on.
    std::string path_from_scope(const std::string& text) const {
        for (const auto* begin : {&scope_.full, &scope_.written}) {
            if (begin->empty() || !text.starts_with(*begin)) continue;
            if (text.size() > begin->size() + 1 && text[begin->size()] == '.') {
                return text.substr(begin->size() + 1);
            }
        }
        return text;
    }
    std::string checked_path(const std::string& text, const std::string& path) const {
        const auto names = 1 + std::count(text.begin(), text.end(), '.');
        if (from_ == Query::From::owner && names > static_cast<std::ptrdiff_t>(Query::kNamesMax)) {
            throw Broken{path, "is a path of more than 64 names"};
        }
        return path_from_scope(checked_text(text, path));
    }
    /// `{field: body}`.
    struct Field {
        std::string path;  ///< into the event
        const Json& body;
        std::string at;  ///< of the body, in the query
    };
    Field field_of(const Json& value, const std::string& path, bool boosted = false) const {
        const auto& [name, body] = only_member(value, path, "the field", boosted);
        return {checked_path(name, path), body, path + "." + name};
    }

    // ------------------------------------------------------------------------------- compounds

    template <class T>
    static NodePtr empty(const Json& body, const std::string& path) {
        const bool boosted = body.is_object() && body.size() == 1 && body.contains(kBoost);
        if (!body.is_object() || (!body.empty() && !boosted)) throw Broken{path, "must be {}"};
        check_boost(body, path);
        return std::make_shared<T>();
    }

    std::vector<NodePtr> clauses(const Json& body, const char* name, const std::string& path,
                                 std::size_t depth) {
        std::vector<NodePtr> nodes;
        if (!body.contains(name)) return nodes;
        const auto& list = body.at(name);
        const auto at = path + "." + name;
        if (!list.is_array()) {
            nodes.push_back(compile(list, at, depth + 1));
            return nodes;
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
            nodes.push_back(compile(list[i], at + "[" + std::to_string(i) + "]", depth + 1));
        }
        return nodes;
    }

    NodePtr boolean(const Json& body, const std::string& path, std::size_t depth) {
        only_members(body, path, {"must", "should", "must_not", "filter", "minimum_should_match"});
        auto node = std::make_shared<Bool>();
        node->must = clauses(body, "must", path, depth);
        for (auto& one : clauses(body, "filter", path, depth)) node->must.push_back(std::move(one));
        node->should = clauses(body, "should", path, depth);
        node->must_not = clauses(body, "must_not", path, depth);
        if (!node->should.empty() && node->must.empty()) node->should_least = 1;
        const auto least = body.find("minimum_should_match");
        if (least != body.end()) {
            node->should_least =
                least_of(*least, node->should.size(), path + ".minimum_should_match");
        }
        return node;
    }

    NodePtr constant_score(const Json& body, const std::string& path, std::size_t depth) {
        only_members(body, path, {"filter"});
        return compile(member(body, "filter", path), path + ".filter", depth + 1);
    }

    NodePtr nested(const Json& body, const std::string& path, std::size_t depth) {
        only_members(body, path, {"path", "query"});
        const auto written = text_of(member(body, "path", path), path + ".path");
        const auto& query = member(body, "query", path);
        auto from_here = checked_path(written, path + ".path");
        const auto full = scope_.full.empty() ? from_here : scope_.full + "." + from_here;
        const auto outer = std::exchange(scope_, Scope{.full = full, .written = written});
        auto inner = compile(query, path + ".query", depth + 1);
        scope_ = outer;
        return std::make_shared<Nested>(std::move(from_here), std::move(inner));
    }

    // ----------------------------------------------------------------------------------- leaves

    NodePtr ids(const Json& body, const std::string& path) const {
        if (from_ == Query::From::owner && !scope_.full.empty()) {
            throw Broken{path, "is of the event: it must stand outside of `nested`"};
        }
        only_members(body, path, {"values"});
        return std::make_shared<Terms>("id",
                                       term_list(body.value("values", Json{}), path + ".values"));
    }

    NodePtr exists(const Json& body, const std::string& path) const {
        only_members(body, path, {"field"});
        const auto at = path + ".field";
        return std::make_shared<Exists>(checked_path(text_of(member(body, "field", path), at), at));
    }

    NodePtr term(const Json& body, const std::string& path) const {
        auto [field, value, at] = field_of(body, path);
        const auto& scalar = short_or_long(value, "value", {}, at);
        return std::make_shared<Terms>(field, std::vector{scalar_of(scalar, at)});
    }

    NodePtr terms(const Json& body, const std::string& path) const {
        const auto [field, list, at] = field_of(body, path, true);
        return std::make_shared<Terms>(field, term_list(list, at));
    }

    NodePtr prefix(const Json& body, const std::string& path) const {
        auto [field, value, at] = field_of(body, path);
        const auto& text = short_or_long(value, "value", {}, at);
        return std::make_shared<Prefix>(field, text_of(text, at));
    }

    NodePtr wildcard(const Json& body, const std::string& path) const {
        auto [field, value, at] = field_of(body, path);
        const auto& text = short_or_long(value, "value", {}, at);
        return std::make_shared<Fits>(field, text_of(text, at));
    }

    NodePtr match(const Json& body, const std::string& path) const {
        auto [field, value, at] = field_of(body, path);
        const auto of_field = at;
        const auto& query = short_or_long(value, "query", {"operator", "minimum_should_match"}, at);
        if (!scalar_of(query, at).is_string()) return std::make_shared<MatchScalar>(field, query);
        auto node = std::make_shared<MatchWords>(field, words_in(query, at));
        if (!value.is_object()) return node;
        if (takes_all(value, of_field)) node->least = node->words.size();
        const auto least = value.find("minimum_should_match");
        if (least != value.end()) {
            const auto count =
                least_of(*least, node->words.size(), of_field + ".minimum_should_match");
            node->least = std::max({node->least, count, std::size_t{1}});
        }
        return node;
    }

    static bool takes_all(const Json& value, const std::string& path) {
        const auto found = value.find("operator");
        if (found == value.end()) return false;
        if (*found != "and" && *found != "or" && *found != "AND" && *found != "OR") {
            throw Broken{path + ".operator", "must be and, or"};
        }
        return *found == "and" || *found == "AND";
    }

    static std::vector<std::string> words_in(const Json& text, const std::string& path) {
        auto words = words_of(text.get_ref<const std::string&>());
        if (words.empty()) throw Broken{path, "has no word"};
        return words;
    }

    NodePtr match_phrase(const Json& body, const std::string& path) const {
        auto [field, value, at] = field_of(body, path);
        const auto& query = scalar_of(short_or_long(value, "query", {}, at), at);
        if (!query.is_string()) return std::make_shared<MatchScalar>(field, query);
        return std::make_shared<MatchPhrase>(field, words_in(query, at));
    }

    NodePtr range(const Json& body, const std::string& path) const {
        const auto [field, value, at] = field_of(body, path);
        only_members(value, at, {"gt", "gte", "lt", "lte"});
        auto node = std::make_shared<Range>(field);
        for (const auto& [name, bound] : value.items()) {
            if (name != kBoost) node->bounds.push_back(bound_of(name, bound, at + "." + name));
        }
        if (node->bounds.empty()) throw Broken{at, "has no bound"};
        return node;
    }

    static Bound::Side side_of(const std::string& name) {
        if (name == "gt") return Bound::Side::gt;
        if (name == "gte") return Bound::Side::gte;
        return name == "lt" ? Bound::Side::lt : Bound::Side::lte;
    }
    static Bound bound_of(const std::string& name, const Json& value, const std::string& path) {
        if (!value.is_number() && !value.is_string()) {
            throw Broken{path, "must be a number, a date or a string"};
        }
        Bound bound{.side = side_of(name)};
        if (value.is_number()) {
            bound.number = number_of(value);
            return bound;
        }
        bound.text = text_of(value, path);
        if (!DateMath::is_meant(bound.text)) {
            bound.time = parse_date(bound.text);
            return bound;
        }
        bound.math = DateMath::parse(bound.text);
        if (!bound.math) {
            throw Broken{path,
                         "is no date math that Beckon knows: `now` or a date and `||`, then at "
                         "most 8 of +1d, -1d, /d, with y, M, w, d, h, m or s"};
        }
        return bound;
    }

    const Query::From from_;
    std::size_t clauses_ = 0;
    Scope scope_;
};

}  // namespace

std::optional<std::string> term_of(const Value& scalar) {
    if (scalar.is_number()) return number_term(scalar.number());
    if (scalar.is_boolean()) return boolean_term(scalar.boolean());
    if (scalar.text().size() > Query::kTextMax) return std::nullopt;
    return text_term(scalar.text());
}

Query::Query(std::shared_ptr<const Node> root) : root_(std::move(root)), cost_(root_->cost()) {}

core::Result<Query> Query::compile(const Json& query, From from) {
    try {
        Query compiled{Compiler{from}.compile_all(query)};
        const auto cost = compiled.cost();
        if (from == From::owner && cost > kCostMax) {
            throw Broken{"$",
                         "costs " + std::to_string(cost) + ", and may cost " +
                             std::to_string(kCostMax) +
                             ": each clause the names of its path times one and its wildcards"};
        }
        return compiled;
    } catch (const Broken& broken) {
        return core::fail(Fault::invalid, broken.path + " " + broken.why);
    }
}

core::Result<Query> Query::compile(std::string_view text, From from) {
    const auto query = core::parse_json(text);
    if (query.is_discarded()) return core::fail(Fault::invalid, "$ is no JSON");
    return compile(query, from);
}

std::optional<bool> Query::matches(const JsonTree& event, core::Timestamp now, Steps& steps) const {
    const bool matched = root_->matches(event.root(), {.now = now, .steps = steps});
    if (steps.exhausted()) return std::nullopt;
    return matched;
}

std::optional<RequiredTerms> Query::required() const { return root_->required(); }
std::size_t Query::heap_bytes() const { return root_->bytes(); }

}  // namespace beckon::retry
