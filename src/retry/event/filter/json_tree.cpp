#include "retry/event/filter/json_tree.hpp"

#include <algorithm>
#include <cstring>

#include <simdjson.h>

namespace beckon::retry {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kBlanks = " \t\r\n";

/// Each thread keeps the parser's memory, which follows from the longest text.
struct Parser {
    ondemand::parser parser;
    std::string padded;  ///< the text with the space behind it that simdjson reads into

    ondemand::document parse(std::string_view text) {
        padded.resize(std::max(padded.size(), text.size() + simdjson::SIMDJSON_PADDING));
        std::memcpy(padded.data(), text.data(), text.size());
        return parser.iterate(padded.data(), text.size(), padded.size()).value();
    }
};

}  // namespace

/// Appends values. The nodes may move while it adds those within a list or object.
struct JsonTree::Builder {
    std::vector<Node>& nodes;
    std::string& chars;
    const char* const text;  ///< that simdjson reads; `chars` begins with a copy
    const std::size_t size;
    std::uint32_t end = 0;  ///< of the last value

    std::uint32_t place_of(const char* at) const { return static_cast<std::uint32_t>(at - text); }

    /// A value that is one token, from its first to its last character.
    Node& leaf(Kind kind, std::string_view token) {
        auto& node = nodes.emplace_back();
        node.kind = kind;
        node.next = static_cast<std::uint32_t>(nodes.size());
        node.begin = place_of(token.data());
        node.end = node.begin + static_cast<std::uint32_t>(token.find_last_not_of(kBlanks) + 1);
        end = node.end;
        return node;
    }
    /// A string whose characters begin at `at` in the text, if none of them is escaped.
    void string(Node& node, const char* at, std::string_view string) {
        const bool plain =
            at[string.size()] == '"' && std::string_view{at, string.size()} == string;
        node.part = {plain ? place_of(at) : static_cast<std::uint32_t>(chars.size()),
                     static_cast<std::uint32_t>(string.size())};
        if (!plain) chars.append(string);
    }
    void number(ondemand::value value) {
        const auto token = value.raw_json_token();
        ondemand::number number;
        if (value.get_number().get(number) != simdjson::SUCCESS) {  // an integer of many digits
            leaf(Kind::real, token).real = value.get_double().value();
        } else if (number.is_int64()) {
            leaf(Kind::integer, token).integer = number.get_int64();
        } else if (number.is_uint64()) {
            leaf(Kind::natural, token).natural = number.get_uint64();
        } else {
            leaf(Kind::real, token).real = number.get_double();
        }
    }
    /// Calls `add` for all that is within, which returns how many they are. The closing bracket is
    /// what comes behind the last of them.
    template <class Add>
    void within(Kind kind, ondemand::value value, Add add) {
        const auto at = nodes.size();
        const auto begin = place_of(value.raw_json_token().data());
        nodes.emplace_back().kind = kind;
        end = begin + 1;
        const std::uint32_t count = add();
        end = static_cast<std::uint32_t>(
            std::string_view{text, size}.find_first_not_of(kBlanks, end) + 1);
        auto& node = nodes[at];
        node.begin = begin;
        node.end = end;
        node.part = {0, count};
        node.next = static_cast<std::uint32_t>(nodes.size());
    }
    void object(ondemand::value value) {
        within(Kind::object, value, [&] {
            std::uint32_t count = 0;
            ondemand::object members = value.get_object().value();
            for (auto field : members) {
                const char* const at = field.key().value().raw();
                const std::string_view name = field.unescaped_key().value();
                string(leaf(Kind::text, {at, 1}), at, name);
                add(field.value().value());
                ++count;
            }
            return count;
        });
    }
    void list(ondemand::value value) {
        within(Kind::list, value, [&] {
            std::uint32_t count = 0;
            ondemand::array elements = value.get_array().value();
            for (auto element : elements) {
                add(element.value());
                ++count;
            }
            return count;
        });
    }
    void add(ondemand::value value) {
        const auto token = value.raw_json_token();
        switch (value.type().value()) {
            case ondemand::json_type::string:
                return string(leaf(Kind::text, token), token.data() + 1,
                              value.get_string().value());
            case ondemand::json_type::number: return number(value);
            case ondemand::json_type::object: return object(value);
            case ondemand::json_type::array: return list(value);
            case ondemand::json_type::null: leaf(Kind::null, token); return;
            case ondemand::json_type::boolean:
                leaf(value.get_bool().value() ? Kind::yes : Kind::no, token);
                return;
        }
    }
};

JsonTree::JsonTree(std::string_view text) : chars_(text) {
    static thread_local Parser parser;
    auto document = parser.parse(text);
    Builder{nodes_, chars_, parser.padded.data(), text.size()}.add(document.get_value().value());
}

Number JsonTree::Value::number() const {
    switch (kind()) {
        case Kind::integer: return static_cast<Number>(node().integer);
        case Kind::natural: return static_cast<Number>(node().natural);
        default: return node().real;
    }
}

std::string_view JsonTree::text_of(std::string_view name) const {
    std::string_view text;
    root().any_member([&](std::string_view one, const Value& value) {
        if (one == name && value.is_text()) text = value.text();
        return false;
    });
    return text;
}

}  // namespace beckon::retry
