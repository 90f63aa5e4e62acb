#pragma once

#include "retry/event/attachment/expression.hpp"
#include "retry/event/filter/json_tree.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The parts of a compiled expression. Only the parser puts them together.
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
    /// Calls `f(name, value)` for each member of an object; false: it is none.
    template <class F>
    bool each_member(F&& f) const;

    std::variant<std::monostate, JsonTree::Value, std::shared_ptr<const List>,
                 std::shared_ptr<const Object>>
        is_;
};

namespace node {

/// `@`, also the right side of a projection without one.
Pick current();
Pick field(std::string name);
/// `index` below zero: from the end.
Pick index(std::int64_t index);

struct Slice {
    std::optional<std::int64_t> start;
    std::optional<std::int64_t> stop;
    std::int64_t step = 1;  ///< never 0
};
Pick slice(Pick left, const Slice& of);
/// `left.right`, `left[…]` and `left | right`.
Pick chain(Pick left, Pick right);
/// `left[]`: the lists in a list are flattened, by one level.
Pick flatten(Pick left);
/// Applies `right` to each element of a list, or to each value of an object; nulls are left out.
enum class Over : std::uint8_t { list, object };
Pick projection(Over over, Pick left, Pick right);
Pick list_of(std::vector<Pick> parts);
Pick object_of(std::vector<std::pair<std::string, Pick>> parts);
/// A JSON Pointer (RFC 6901).
Pick pointer(std::vector<std::string> names);

}  // namespace node

}  // namespace beckon::retry
