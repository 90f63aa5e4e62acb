#pragma once

#include "core/result.hpp"
#include "retry/event/filter/json_tree.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace beckon::retry {

/// The budget of evaluations: each value that is visited costs kValue, which takes as long as so
/// many bytes at the least; each byte that is copied costs one, and so does each element that is
/// passed over. Some milliseconds in all. Several expressions may share one.
struct Work {
    static constexpr std::size_t kValue = 16;
    static constexpr std::size_t kMax = 1 << 20;
    std::size_t left = kMax;
};

class Picked;
/// A part of a compiled expression: picks something from a value.
using Pick = std::function<Picked(const Picked& at, Work& work)>;

/// Names a part of a JSON document: a JSON Pointer (RFC 6901) if it begins with a slash, otherwise
/// the subset of JMESPath that docs/webhooks.md#attachments describes. Immutable; any thread.
class Expression {
public:
    static constexpr std::size_t kBytesMax = 1'024;
    static constexpr std::size_t kDepthMax = 32;  ///< of brackets and projections in each other

    /// Errors: invalid; the message says at which byte, and what is allowed there.
    static core::Result<Expression> compile(std::string_view text);

    /// The selected part as JSON, null if the document has none; values of the document as they
    /// stand there. Errors: too_large (too little work is left).
    core::Result<std::string> select(const JsonTree& document, Work& work) const;

private:
    explicit Expression(Pick pick) : pick_(std::move(pick)) {}
    Pick pick_;
};

}  // namespace beckon::retry
