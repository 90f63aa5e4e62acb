#include "retry/filter/query.hpp"

#include "retry/filter/date.hpp"
#include "retry/filter/words.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

struct Query::Node {
    virtual ~Node() = default;
    virtual bool matches(const Json& at) const = 0;
    virtual std::optional<RequiredTerms> required() const { return std::nullopt; }
};

namespace {

using NodePtr = std::shared_ptr<const Query::Node>;

/// What is wrong with a query, and where.
struct Broken {
    std::string path;
    std::string why;
};

bool same(const Json& a, const Json& b) {
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

class Compiler {
public:
    NodePtr compile(const Json& query, const std::string& path, std::size_t depth) {
        if (depth > Query::kDepthMax) throw Broken{path, "is nested too deeply"};
        if (++clauses_ > Query::kClausesMax) throw Broken{path, "has too many clauses"};
        const auto& [name, body] = only_member(query, path, "a query");
        const auto at = path + "." + name;
        if (name == "bool") return boolean(body, at, depth);
        if (name == "nested") return nested(body, at, depth);
        if (name == "match_all") return empty<All>(body, at);
        if (name == "match_none") return empty<None>(body, at);
        if (name == "ids") return ids(body, at);
        if (name == "exists") return exists(body, at);
        if (name == "term") return term(body, at);
        if (name == "terms") return terms(body, at);
        if (name == "prefix") return pattern(body, at, false);
        if (name == "wildcard") return pattern(body, at, true);
        if (name == "match") return match(body, at, Match::How::any);
        if (name == "match_phrase") return match(body, at, Match::How::phrase);
        if (name == "range") return range(body, at);
        throw Broken{at, "is no query that Beckon knows"};
    }

private:
    static std::pair<std::string, const Json&> only_member(const Json& value,
                                                           const std::string& path,
                                                           const char* what) {
        if (!value.is_object() || value.size() != 1) {
            throw Broken{path, std::string{"must be an object with one member, "} + what};
        }
        return {value.begin().key(), value.begin().value()};
    }
    /// `{field: body}`.
    std::pair<std::string, const Json&> field_of(const Json& value, const std::string& path) const {
        const auto& [field, body] = only_member(value, path, "the field");
        return {checked_text(field, path), body};
    }
    static std::string checked_text(const std::string& text, const std::string& path) {
        if (text.empty() || text.size() > Query::kTextMax) {
            throw Broken{path, "must have 1 to 1024 bytes of text"};
        }
        return text;
    }
    static std::string text_of(const Json& value, const std::string& path) {
        if (!value.is_string()) throw Broken{path, "must be a string"};
        return checked_text(value.get<std::string>(), path);
    }
    static const Json& scalar_of(const Json& value, const std::string& path) {
        if (!value.is_string() && !value.is_number() && !value.is_boolean()) {
            throw Broken{path, "must be a string, a number or a boolean"};
        }
        if (value.is_string()) static_cast<void>(checked_term(value, path));
        return value;
    }
    static std::string checked_term(const Json& value, const std::string& path) {
        if (value.get_ref<const std::string&>().size() > Query::kTextMax) {
            throw Broken{path, "must have at most 1024 bytes"};
        }
        return {};
    }
    /// `value` itself, or its member `name` if it is an object, as the long forms have it.
    static const Json& short_or_long(const Json& value, const char* name,
                                     std::initializer_list<const char*> others, std::string& path) {
        if (!value.is_object()) return value;
        only_members(value, path, name, others);
        if (!value.contains(name)) throw Broken{path, std::string{"lacks `"} + name + "`"};
        path += std::string{"."} + name;
        return value.at(name);
    }
    static void only_members(const Json& value, const std::string& path, const char* name,
                             std::initializer_list<const char*> others) {
        if (!value.is_object()) throw Broken{path, "must be an object"};
        for (const auto& [key, ignored] : value.items()) {
            const bool known =
                key == name || std::find(others.begin(), others.end(), key) != others.end();
            if (!known) throw Broken{path + "." + key, "is not known here"};
        }
    }

    template <class T>
    static NodePtr empty(const Json& body, const std::string& path) {
        if (!body.is_object() || !body.empty()) throw Broken{path, "must be {}"};
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
        only_members(body, path, "must", {"should", "must_not", "filter", "minimum_should_match"});
        auto node = std::make_shared<Bool>();
        node->must = clauses(body, "must", path, depth);
        for (auto& one : clauses(body, "filter", path, depth)) node->must.push_back(std::move(one));
        node->should = clauses(body, "should", path, depth);
        node->must_not = clauses(body, "must_not", path, depth);
        if (!node->should.empty() && node->must.empty()) node->should_least = 1;
        if (body.contains("minimum_should_match")) {
            const auto& least = body.at("minimum_should_match");
            if (!least.is_number_unsigned() || least.get<std::size_t>() > node->should.size()) {
                throw Broken{path + ".minimum_should_match",
                             "must be a number up to that of the clauses in should"};
            }
            node->should_least = least.get<std::size_t>();
        }
        return node;
    }

    NodePtr nested(const Json& body, const std::string& path, std::size_t depth) {
        only_members(body, path, "path", {"query"});
        if (!body.contains("path")) throw Broken{path, "lacks `path`"};
        if (!body.contains("query")) throw Broken{path, "lacks `query`"};
        auto node = std::make_shared<Nested>();
        node->path = text_of(body.at("path"), path + ".path");
        node->query = compile(body.at("query"), path + ".query", depth + 1);
        return node;
    }

    NodePtr ids(const Json& body, const std::string& path) const {
        only_members(body, path, "values", {});
        auto node = std::make_shared<Terms>();
        node->field = "id";
        node->terms = term_list(body.value("values", Json{}), path + ".values");
        return node;
    }

    NodePtr exists(const Json& body, const std::string& path) const {
        only_members(body, path, "field", {});
        if (!body.contains("field")) throw Broken{path, "lacks `field`"};
        auto node = std::make_shared<Exists>();
        node->field = text_of(body.at("field"), path + ".field");
        return node;
    }

    NodePtr term(const Json& body, const std::string& path) const {
        const auto& [field, value] = field_of(body, path);
        auto at = path + "." + field;
        const auto& scalar = short_or_long(value, "value", {}, at);
        auto node = std::make_shared<Terms>();
        node->field = field;
        node->terms = {scalar_of(scalar, at)};
        return node;
    }

    NodePtr terms(const Json& body, const std::string& path) const {
        const auto& [field, list] = field_of(body, path);
        auto node = std::make_shared<Terms>();
        node->field = field;
        node->terms = term_list(list, path + "." + field);
        return node;
    }

    static std::vector<Json> term_list(const Json& list, const std::string& path) {
        if (!list.is_array() || list.size() > Query::kClausesMax) {
            throw Broken{path, "must be a list of at most 256 values"};
        }
        std::vector<Json> terms;
        for (std::size_t i = 0; i < list.size(); ++i) {
            terms.push_back(scalar_of(list[i], path + "[" + std::to_string(i) + "]"));
        }
        return terms;
    }

    NodePtr pattern(const Json& body, const std::string& path, bool wildcard) const {
        const auto& [field, value] = field_of(body, path);
        auto at = path + "." + field;
        auto text = text_of(short_or_long(value, "value", {}, at), at);
        auto node = std::make_shared<Fits>();
        node->field = field;
        if (wildcard) {
            node->fits = [text](std::string_view s) { return fits_wildcard(text, s); };
        } else {
            node->fits = [text](std::string_view s) { return s.starts_with(text); };
        }
        return node;
    }

    NodePtr match(const Json& body, const std::string& path, Match::How how) const {
        const auto& [field, value] = field_of(body, path);
        auto at = path + "." + field;
        auto node = std::make_shared<Match>();
        node->field = field;
        node->how = how;
        if (value.is_object() && value.contains("operator") && how == Match::How::any) {
            const auto& op = value.at("operator");
            if (op != "and" && op != "or" && op != "AND" && op != "OR") {
                throw Broken{at + ".operator", "must be and, or"};
            }
            if (op == "and" || op == "AND") node->how = Match::How::all;
        }
        const auto& query = how == Match::How::any ? short_or_long(value, "query", {"operator"}, at)
                                                   : short_or_long(value, "query", {}, at);
        node->exact = scalar_of(query, at);
        if (query.is_string()) {
            node->words = words_of(query.get<std::string>());
            if (node->words.empty()) throw Broken{at, "has no word"};
        }
        return node;
    }

    NodePtr range(const Json& body, const std::string& path) const {
        const auto& [field, value] = field_of(body, path);
        const auto at = path + "." + field;
        only_members(value, at, "gt", {"gte", "lt", "lte"});
        if (value.empty()) throw Broken{at, "has no bound"};
        auto node = std::make_shared<Range>();
        node->field = field;
        for (const auto& [name, bound] : value.items()) {
            const auto here = at + "." + name;
            if (!bound.is_number() && !bound.is_string()) {
                throw Broken{here, "must be a number, a date or a string"};
            }
            node->bounds.emplace_back(order_of(name), bound_of(bound, here));
        }
        return node;
    }

    static std::function<bool(int)> order_of(const std::string& name) {
        if (name == "gt") return [](int order) { return order > 0; };
        if (name == "gte") return [](int order) { return order >= 0; };
        if (name == "lt") return [](int order) { return order < 0; };
        return [](int order) { return order <= 0; };
    }
    static Bound bound_of(const Json& value, const std::string& path) {
        if (!value.is_string()) return {value, std::nullopt};
        const auto text = text_of(value, path);
        if (text.find("now") == 0 || text.find("||") != std::string::npos) {
            throw Broken{path, "date math is not known: give a date"};
        }
        return {value, parse_date(text)};
    }

    std::size_t clauses_ = 0;
};

void collect(const Json& at, std::string_view rest, std::vector<const Json*>& found) {
    if (at.is_array()) {
        for (const auto& one : at) collect(one, rest, found);
        return;
    }
    if (rest.empty()) {
        if (!at.is_null() && !at.is_object()) found.push_back(&at);
        return;
    }
    if (!at.is_object()) return;
    // A name may have dots itself: the whole rest first, then what stands before each dot.
    for (auto end = rest.size();; end = rest.rfind('.', end - 1)) {
        if (end == std::string_view::npos) return;
        const auto found_at = at.find(std::string{rest.substr(0, end)});
        if (found_at != at.end()) {
            collect(*found_at, end == rest.size() ? "" : rest.substr(end + 1), found);
        }
        if (end == 0) return;
    }
}

}  // namespace

std::string term_of(const Json& scalar) {
    // Equal numbers have one key, whether they are written 1 or 1.0.
    if (scalar.is_number()) return "n" + Json(scalar.get<double>()).dump();
    if (scalar.is_boolean()) return scalar.get<bool>() ? "b1" : "b0";
    return scalar.is_string() ? "s" + scalar.get<std::string>() : "x";
}

std::vector<const Json*> values_at(const Json& event, std::string_view path) {
    std::vector<const Json*> found;
    collect(event, path, found);
    return found;
}

core::Result<Query> Query::compile(const Json& query) {
    try {
        return Query{Compiler{}.compile(query, "$", 0)};
    } catch (const Broken& broken) {
        return core::fail(Fault::invalid, broken.path + " " + broken.why);
    }
}

core::Result<Query> Query::compile(std::string_view text) {
    const auto query = Json::parse(text, nullptr, false);
    if (query.is_discarded()) return core::fail(Fault::invalid, "$ is no JSON");
    return compile(query);
}

bool Query::matches(const Json& event) const { return root_->matches(event); }

std::optional<RequiredTerms> Query::required() const { return root_->required(); }

}  // namespace beckon::retry
