#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "retry/event/filter/clauses.hpp"
#include "retry/event/filter/date.hpp"
#include "retry/event/filter/words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

using namespace clause;
using Node = Query::Node;

/// The fault of a query, which begins with its JSON path.
struct Broken {
    std::string why;
};

constexpr const char* kBoost = "boost";

/// A part of a query, and its JSON path. Throws Broken.
struct Part {
    const Json& json;
    std::string path;

    [[noreturn]] void refuse(const std::string& why) const { throw Broken{path + " " + why}; }
    Part at(const std::string& name) const { return {json.at(name), path + "." + name}; }
    Part member(const std::string& name) const {
        if (!json.contains(name)) refuse("lacks `" + name + "`");
        return at(name);
    }
    std::vector<Part> elements() const {
        std::vector<Part> all;
        for (std::size_t i = 0; i < json.size(); ++i) {
            all.push_back({json[i], path + "[" + std::to_string(i) + "]"});
        }
        return all;
    }
    /// Scores order the results of a search; a filter has none, so a boost is checked and has no
    /// effect.
    void check_boost() const {
        const bool good =
            json.is_number() && std::isfinite(json.get<double>()) && json.get<double>() >= 0;
        if (!good) refuse("must be a number that is not below 0");
    }
    /// An object of these members, of which any may be missing, and `boost`.
    void check_members(const std::vector<std::string_view>& names) const {
        if (!json.is_object()) refuse("must be an object");
        for (const auto& [name, ignored] : json.items()) {
            if (name == kBoost) {
                at(name).check_boost();
            } else if (std::find(names.begin(), names.end(), name) == names.end()) {
                at(name).refuse("is not known here");
            }
        }
    }
    /// The name of the one member, besides `boost` where that may stand.
    std::string only_member(const std::string& what, bool boosted = false) const {
        boosted = boosted && json.is_object() && json.contains(kBoost);
        if (!json.is_object() || json.size() != (boosted ? 2 : 1)) {
            refuse("must be an object with one member, " + what);
        }
        if (boosted) at(kBoost).check_boost();
        auto found = json.begin();
        if (boosted && found.key() == kBoost) ++found;
        return found.key();
    }
    /// Itself, or its member `name` if it is an object, as the long forms have it.
    Part short_or_long(const char* name, std::vector<std::string_view> others = {}) const {
        if (!json.is_object()) return *this;
        others.emplace_back(name);
        check_members(others);
        return member(name);
    }
    void check_size(const std::string& text) const {
        if (text.empty() || text.size() > Query::kTextMax) {
            refuse("must have 1 to 1024 bytes of text");
        }
    }
    std::string text() const {
        if (!json.is_string()) refuse("must be a string");
        check_size(json.get_ref<const std::string&>());
        return json.get<std::string>();
    }
    const Json& scalar() const {
        if (!json.is_string() && !json.is_number() && !json.is_boolean()) {
            refuse("must be a string, a number or a boolean");
        }
        if (json.is_string() && json.get_ref<const std::string&>().size() > Query::kTextMax) {
            refuse("must have at most 1024 bytes");
        }
        return json;
    }
    Terms term() const { return {{term_of(scalar())}}; }
    Terms terms() const {
        if (!json.is_array() || json.size() > Query::kClausesMax) {
            refuse("must be a list of at most 256 values");
        }
        std::vector<std::string> all;
        for (const auto& one : elements()) all.push_back(term_of(one.scalar()));
        return {in_order(std::move(all))};
    }
    std::vector<std::string> words() const {
        auto all = words_of(json.get_ref<const std::string&>());
        if (all.empty()) refuse("has no word");
        return all;
    }
    /// Ascending, each once.
    static std::vector<std::string> in_order(std::vector<std::string> texts) {
        std::sort(texts.begin(), texts.end());
        texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
        texts.shrink_to_fit();
        return texts;
    }
    /// How many of `count` must hold: a number or a percentage, or if it is below zero, how many
    /// may fail.
    std::size_t least_of(std::size_t count) const {
        auto text = json.is_string()           ? json.get<std::string>()
                    : json.is_number_integer() ? core::json_text(json)
                                               : "";
        const bool percent = text.ends_with('%');
        if (percent) text.pop_back();
        const auto given = core::parse_decimal<std::int64_t>(text);
        const auto whole = static_cast<std::int64_t>(count);
        const auto most = percent ? 100 : whole;
        if (!given || *given > most || *given < -most) {
            refuse("must be a number up to " + std::to_string(count) +
                   " or a percentage (\"75%\"), of those that must hold, or below 0 of those that "
                   "need not");
        }
        const auto number = percent ? *given * whole / 100 : *given;
        const bool of_failing = number < 0 || (percent && text.starts_with('-'));
        return static_cast<std::size_t>(of_failing ? whole + number : number);
    }
    Bound bound(Bound::Side side) const {
        if (json.is_number()) return {side, number_of(json)};
        if (!json.is_string()) refuse("must be a number, a date or a string");
        auto given = text();
        if (!DateMath::is_meant(given)) {
            const auto time = parse_date(given);
            if (time) return {side, *time};
            return {side, std::move(given)};
        }
        auto math = DateMath::parse(given);
        if (!math) {
            refuse(
                "is no date math that Beckon knows: `now` or a date and `||`, then at most 8 of "
                "+1d, -1d, /d, with y, M, w, d, h, m or s");
        }
        return {side, std::move(*math)};
    }
};

Clause term(const Part& value) { return value.short_or_long("value").term(); }
Clause terms(const Part& list) { return list.terms(); }
Clause prefix(const Part& value) { return Prefix{value.short_or_long("value").text()}; }
Clause wildcard(const Part& value) { return Wildcard{value.short_or_long("value").text()}; }

Clause match(const Part& value) {
    const auto query = value.short_or_long("query", {"operator", "minimum_should_match"});
    if (!query.scalar().is_string()) return query.term();
    Words clause{.words = Part::in_order(query.words())};
    if (!value.json.is_object()) return clause;
    const auto how = value.json.value("operator", Json("or"));
    if (how != "and" && how != "or" && how != "AND" && how != "OR") {
        value.at("operator").refuse("must be and, or");
    }
    if (how == "and" || how == "AND") clause.least = clause.words.size();
    if (value.json.contains("minimum_should_match")) {
        const auto least = value.at("minimum_should_match").least_of(clause.words.size());
        clause.least = std::max(clause.least, least);
    }
    return clause;
}

Clause match_phrase(const Part& value) {
    const auto query = value.short_or_long("query");
    if (!query.scalar().is_string()) return query.term();
    return Phrase{query.words()};
}

Clause range(const Part& value) {
    constexpr std::array<std::string_view, 4> kSides{"gt", "gte", "lt", "lte"};
    value.check_members({kSides.begin(), kSides.end()});
    Range clause;
    for (std::size_t i = 0; i < kSides.size(); ++i) {
        const std::string name{kSides[i]};
        if (!value.json.contains(name)) continue;
        clause.bounds.push_back(value.at(name).bound(static_cast<Bound::Side>(i)));
    }
    if (clause.bounds.empty()) value.refuse("has no bound");
    return clause;
}

/// The clauses that are `{name: {field: body}}`.
struct Leaf {
    std::string_view name;
    Clause (*compile)(const Part& body);
    bool boosted = false;  ///< `boost` may stand beside the field
};
constexpr std::array kLeaves{
    Leaf{"term", term},   Leaf{"terms", terms, true},         Leaf{"prefix", prefix},
    Leaf{"match", match}, Leaf{"match_phrase", match_phrase}, Leaf{"wildcard", wildcard},
    Leaf{"range", range},
};

class Compiler {
public:
    explicit Compiler(Query::From from) : from_(from) {}

    /// The query, or the whole body of a search that has nothing else: `{"query": …}`.
    Node compile_all(const Part& query) {
        if (!query.json.is_object() || !query.json.contains("query")) return compile(query);
        for (const auto& [name, ignored] : query.json.items()) {
            if (name != "query") query.at(name).refuse("is not known here");
        }
        return compile(query.at("query"));
    }

private:
    Node compile(const Part& query) {
        if (depth_ > Query::kDepthMax) query.refuse("is nested too deeply");
        if (++clauses_ > Query::kClausesMax) query.refuse("has too many clauses");
        const auto name = query.only_member("a query");
        ++depth_;
        auto node = compile(name, query.at(name));
        --depth_;
        return node;
    }

    Node compile(const std::string& name, const Part& body) {
        if (name == "bool") return boolean(body);
        if (name == "constant_score") return constant_score(body);
        if (name == "nested") return nested(body);
        if (name == "ids") return ids(body);
        if (name == "exists") return exists(body);
        if (name == "match_all" || name == "match_none") {
            body.check_members({});
            Bool all;
            all.should_least = name == "match_none" ? 1 : 0;
            return {std::move(all)};
        }
        for (const auto& leaf : kLeaves) {
            if (leaf.name != name) continue;
            const auto field = body.only_member("the field", leaf.boosted);
            const auto value = body.at(field);
            return {AtPath{FieldPath{checked_path(field, body)}, leaf.compile(value)}};
        }
        body.refuse("is no query that Beckon knows");
    }

    std::vector<Node> clauses(const Part& body, const char* name) {
        std::vector<Node> nodes;
        if (!body.json.contains(name)) return nodes;
        const auto list = body.at(name);
        if (!list.json.is_array()) return nodes.push_back(compile(list)), nodes;
        for (const auto& one : list.elements()) nodes.push_back(compile(one));
        return nodes;
    }

    Node boolean(const Part& body) {
        body.check_members({"must", "should", "must_not", "filter", "minimum_should_match"});
        Bool all;
        all.must = clauses(body, "must");
        for (auto& one : clauses(body, "filter")) all.must.push_back(std::move(one));
        all.should = clauses(body, "should");
        all.must_not = clauses(body, "must_not");
        if (!all.should.empty() && all.must.empty()) all.should_least = 1;
        if (body.json.contains("minimum_should_match")) {
            all.should_least = body.at("minimum_should_match").least_of(all.should.size());
        }
        return {std::move(all)};
    }

    Node constant_score(const Part& body) {
        body.check_members({"filter"});
        return compile(body.member("filter"));
    }

    Node nested(const Part& body) {
        body.check_members({"path", "query"});
        const auto path = body.member("path");
        const auto query = body.member("query");
        const auto written = path.text();
        FieldPath from_here{checked_path(written, path)};
        const auto full =
            scope_.full.empty() ? from_here.text() : scope_.full + "." + from_here.text();
        const auto outer = std::exchange(scope_, Scope{.full = full, .written = written});
        auto inner = std::make_shared<const Node>(compile(query));
        scope_ = outer;
        return {AtPath{std::move(from_here), Nested{std::move(inner)}}};
    }

    Node ids(const Part& body) const {
        if (from_ == Query::From::owner && !scope_.full.empty()) {
            body.refuse("is of the event: it must stand outside of `nested`");
        }
        body.check_members({"values"});
        return {AtPath{FieldPath{"id"}, body.member("values").terms()}};
    }

    Node exists(const Part& body) const {
        body.check_members({"field"});
        const auto field = body.member("field");
        return {AtPath{FieldPath{checked_path(field.text(), field)}, Exists{}}};
    }

    /// Where a path begins: at the event, or at the objects of a nested query.
    struct Scope {
        std::string full;     ///< from the event on
        std::string written;  ///< as the query has it
    };

    /// A path that a part of the query names. Inside of a nested query it is one from its objects
    /// on; Elasticsearch has it from the event on.
    std::string checked_path(const std::string& text, const Part& at) const {
        const auto names = 1 + std::count(text.begin(), text.end(), '.');
        if (from_ == Query::From::owner && names > static_cast<std::ptrdiff_t>(Query::kNamesMax)) {
            at.refuse("is a path of more than 64 names");
        }
        at.check_size(text);
        for (const auto* begin : {&scope_.full, &scope_.written}) {
            if (begin->empty() || !text.starts_with(*begin + ".")) continue;
            if (text.size() > begin->size() + 1) return text.substr(begin->size() + 1);
        }
        return text;
    }

    const Query::From from_;
    std::size_t clauses_ = 0;
    std::size_t depth_ = 0;
    Scope scope_;
};

}  // namespace

core::Result<Query> Query::compile(const Json& query, From from) {
    const Part whole{query, "$"};
    try {
        Query compiled{std::make_shared<const Node>(Compiler{from}.compile_all(whole))};
        const auto cost = compiled.cost();
        if (from == From::owner && cost > kCostMax) {
            whole.refuse("costs " + std::to_string(cost) + ", and may cost " +
                         std::to_string(kCostMax) +
                         ": each clause the names of its path times one and its wildcards");
        }
        return compiled;
    } catch (const Broken& broken) {
        return core::fail(Fault::invalid, broken.why);
    }
}

core::Result<Query> Query::compile(std::string_view text, From from) {
    const auto query = core::parse_json(text);
    if (query.is_discarded()) return core::fail(Fault::invalid, "$ is no JSON");
    return compile(query, from);
}

}  // namespace beckon::retry
