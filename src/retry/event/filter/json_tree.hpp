#pragma once

#include "retry/event/filter/scalars.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// A JSON text that is parsed once and read many times, as filters and attachments read an event.
/// All values stand in one list, in the order of the text, so that parse and end are quick whatever
/// the text is: 256 KiB take 0.5 to 3 ms (docs/facts/fairness.md). It holds a copy of the text, and
/// up to 12 bytes for each byte of it. Immutable; any thread.
class JsonTree {
    enum class Kind : std::uint8_t { null, yes, no, integer, natural, real, text, list, object };
    struct Node {
        Kind kind = Kind::null;
        std::uint32_t next = 0;   ///< index of the value behind this one, and behind all within it
        std::uint32_t begin = 0;  ///< in the text, with quotes or brackets; of a name unused
        std::uint32_t end = 0;
        union {
            std::int64_t integer;
            std::uint64_t natural;
            double real;
            struct {
                std::uint32_t at;    ///< of a string without escapes and quotes in `chars_`
                std::uint32_t size;  ///< of a string in bytes, of a list or object in elements
            } part;
        };
    };

public:
    /// A value of the tree, which must live.
    class Value {
    public:
        bool is_null() const { return kind() == Kind::null; }
        bool is_boolean() const { return kind() == Kind::yes || kind() == Kind::no; }
        bool is_number() const { return kind() >= Kind::integer && kind() <= Kind::real; }
        bool is_text() const { return kind() == Kind::text; }
        bool is_list() const { return kind() == Kind::list; }
        bool is_object() const { return kind() == Kind::object; }

        bool boolean() const { return kind() == Kind::yes; }
        Number number() const;
        std::string_view text() const {
            return std::string_view{tree_->chars_}.substr(node().part.at, node().part.size);
        }
        /// The number of elements, or of members.
        std::size_t size() const { return node().part.size; }
        /// The value as it stands in the text.
        std::string_view json() const {
            return std::string_view{tree_->chars_}.substr(node().begin, node().end - node().begin);
        }

        /// True if `f(element)` is true for an element of the list.
        template <class F>
        bool any_element(F&& f) const {
            for (auto i = at_ + 1; i < node().next; i = tree_->nodes_[i].next) {
                if (f(Value{*tree_, i})) return true;
            }
            return false;
        }
        /// True if `f(name, value)` is true for a member of the object. A repeated name has each of
        /// its values.
        template <class F>
        bool any_member(F&& f) const {
            for (auto i = at_ + 1; i < node().next;) {
                const Value value{*tree_, i + 1};
                if (f(Value{*tree_, i}.text(), value)) return true;
                i = value.node().next;
            }
            return false;
        }

    private:
        friend class JsonTree;
        Value(const JsonTree& tree, std::uint32_t at) : tree_(&tree), at_(at) {}
        const Node& node() const { return tree_->nodes_[at_]; }
        Kind kind() const { return node().kind; }
        const JsonTree* tree_;
        std::uint32_t at_;
    };

    /// `text` is an object or a list that core::json_value() has let pass. Throws std::exception if
    /// it is no JSON, or another value.
    explicit JsonTree(std::string_view text);

    Value root() const { return {*this, 0}; }
    /// The text of the event's member; "" if there is none.
    std::string_view text_of(std::string_view name) const;

private:
    struct Builder;
    std::vector<Node> nodes_;  ///< an object's members are a text and a value each
    std::string chars_;        ///< the text, and behind it strings that have escapes there
};

}  // namespace beckon::retry
