#pragma once

#include "core/result.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace beckon::retry {

/// The budget of evaluations: each value that is visited or copied costs kValue, which takes as
/// long as so many bytes at the least, and each byte of text that is copied one. Some milliseconds
/// in all. Several expressions may share one.
struct Work {
    static constexpr std::size_t kValue = 16;
    static constexpr std::size_t kMax = 1 << 20;
    std::size_t left = kMax;
};

/// Names a part of a JSON document: a JSON Pointer (RFC 6901) if it begins with a slash, otherwise
/// the subset of JMESPath that docs/webhooks.md#attachments describes. Immutable; any thread.
class Expression {
public:
    static constexpr std::size_t kBytesMax = 1'024;
    static constexpr std::size_t kDepthMax = 32;  ///< of brackets and projections in each other

    /// Errors: invalid; the message says at which byte, and what is allowed there.
    static core::Result<Expression> compile(std::string_view text);

    /// The selected part, null if the document has none. Errors: too_large (too little work is
    /// left).
    core::Result<nlohmann::json> select(const nlohmann::json& document, Work& work) const;

    struct Node;

private:
    explicit Expression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
    std::shared_ptr<const Node> root_;
};

}  // namespace beckon::retry
