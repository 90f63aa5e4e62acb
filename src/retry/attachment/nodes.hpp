#pragma once

#include "retry/attachment/expression.hpp"
#include "retry/filter/json_tree.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The nodes of a compiled expression. Only the parser makes them.
namespace beckon::retry {

/// Thrown by evaluations, and caught by Expression::select().
struct TooMuchWork {};

/// A value of the document, or a list or object that an expression has made of some. A copy is
/// cheap. Functions with `work` throw TooMuchWork.
class Picked {
public:
    using List = std::vector<Picked>;
    using Object = std::vector<std::pair<std::string, Picked>>;

    Picked() = default;  ///< null
    explicit Picked(JsonTree::Value there) : is_(there) {}
    explicit Picked(List made) : is_(std::make_shared<const List>(std::move(made))) {}
    explicit Picked(Object made) : is_(std::make_shared<const Object>(std::move(made))) {}

    bool is_null() const;
    /// The last member of that name; null if there is none.
    Picked member(std::string_view name, Work& work) const;
    /// The elements of a list; null: it is none.
    std::shared_ptr<const List> elements(Work& work) const;
    /// The values of an object, in the order of their names; null: it is none.
    std::shared_ptr<const List> values(Work& work) const;
    /// Appends it as JSON: values of the document as they stand there.
    void append_to(std::string& out, Work& work) const;

private:
    std::variant<std::monostate, JsonTree::Value, std::shared_ptr<const List>,
                 std::shared_ptr<const Object>>
        is_;
};

struct Expression::Node {
    virtual ~Node() = default;
    virtual Picked pick(const Picked& at, Work& work) const = 0;
};

namespace node {

using NodePtr = std::shared_ptr<const Expression::Node>;

/// `@`, also the right side of a projection without one.
struct Current final : Expression::Node {
    Picked pick(const Picked& at, Work& work) const override;
};

struct Field final : Expression::Node {
    std::string name;
    Picked pick(const Picked& at, Work& work) const override;
};

struct Index final : Expression::Node {
    std::int64_t index = 0;  ///< below zero: from the end
    Picked pick(const Picked& at, Work& work) const override;
};

struct Slice final : Expression::Node {
    std::optional<std::int64_t> start;
    std::optional<std::int64_t> stop;
    std::int64_t step = 1;  ///< never 0
    Picked pick(const Picked& at, Work& work) const override;
};

/// `left.right`, `left[…]` and `left | right`.
struct Chain final : Expression::Node {
    NodePtr left;
    NodePtr right;
    Picked pick(const Picked& at, Work& work) const override;
};

/// `left[]`: the lists in a list are flattened, by one level.
struct Flatten final : Expression::Node {
    NodePtr left;
    Picked pick(const Picked& at, Work& work) const override;
};

/// Applies `right` to each element of a list, or to each value of an object; nulls are left out.
struct Projection final : Expression::Node {
    enum class Over { list, object };
    Over over = Over::list;
    NodePtr left;
    NodePtr right;
    Picked pick(const Picked& at, Work& work) const override;
};

struct MultiSelectList final : Expression::Node {
    std::vector<NodePtr> parts;
    Picked pick(const Picked& at, Work& work) const override;
};

struct MultiSelectHash final : Expression::Node {
    std::vector<std::pair<std::string, NodePtr>> parts;
    Picked pick(const Picked& at, Work& work) const override;
};

/// A JSON Pointer (RFC 6901).
struct Pointer final : Expression::Node {
    std::vector<std::string> names;
    Picked pick(const Picked& at, Work& work) const override;
};

}  // namespace node

}  // namespace beckon::retry
