#include "retry/filter/query.hpp"

#include "retry/filter/clauses.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

using namespace clause;

/// What is wrong with a query, and where.
struct Broken {
    std::string path;
    std::string why;
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

}  // namespace

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
