#pragma once

#include "retry/attachment/expression.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

/// The nodes of a compiled expression. Only the parser makes them.
namespace beckon::retry {

/// A value of the document, or one that an expression has made.
class Picked {
public:
    explicit Picked(const nlohmann::json& there) : there_(&there) {}
    explicit Picked(nlohmann::json&& made)
        : made_(std::make_unique<nlohmann::json>(std::move(made))) {}
    const nlohmann::json& value() const { return made_ ? *made_ : *there_; }
    bool is_made() const { return made_ != nullptr; }
    /// The value itself; a value of the document is copied, which is work.
    nlohmann::json take(Work& work) &&;

private:
    const nlohmann::json* there_ = nullptr;
    std::unique_ptr<nlohmann::json> made_;
};

/// Thrown by evaluations, and caught by Expression::select().
struct TooMuchWork {};

struct Expression::Node {
    virtual ~Node() = default;
    /// The answer refers to `at` or owns its value.
    virtual Picked pick(const nlohmann::json& at, Work& work) const = 0;
};

namespace node {

using NodePtr = std::shared_ptr<const Expression::Node>;

/// `@`, also the right side of a projection without one.
struct Current final : Expression::Node {
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

struct Field final : Expression::Node {
    std::string name;
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

struct Index final : Expression::Node {
    std::int64_t index = 0;  ///< below zero: from the end
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

struct Slice final : Expression::Node {
    std::optional<std::int64_t> start;
    std::optional<std::int64_t> stop;
    std::int64_t step = 1;  ///< never 0
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

/// `left.right`, `left[…]` and `left | right`.
struct Chain final : Expression::Node {
    NodePtr left;
    NodePtr right;
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

/// `left[]`: the lists in a list are flattened, by one level.
struct Flatten final : Expression::Node {
    NodePtr left;
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

/// Applies `right` to each element of a list, or to each value of an object; nulls are left out.
struct Projection final : Expression::Node {
    enum class Over { list, object };
    Over over = Over::list;
    NodePtr left;
    NodePtr right;
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

struct MultiSelectList final : Expression::Node {
    std::vector<NodePtr> parts;
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

struct MultiSelectHash final : Expression::Node {
    std::vector<std::pair<std::string, NodePtr>> parts;
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

struct Pointer final : Expression::Node {
    nlohmann::json::json_pointer pointer;
    Picked pick(const nlohmann::json& at, Work& work) const override;
};

}  // namespace node

}  // namespace beckon::retry
