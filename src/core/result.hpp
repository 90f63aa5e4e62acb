#pragma once

#include "core/enum_names.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace beckon::core {

/// The kind of a failure. Each service maps it to its wire and to its metric label with one
/// exhaustive switch.
enum class Fault {
    invalid,       ///< the input breaks its format or a rule; retrying is futile
    not_found,     ///< proven absent
    unauthorized,  ///< a key, signature or secret does not fit
    too_large,     ///< a named limit was exceeded
    conflict,      ///< another process or caller holds it, or has changed it
    out_of_range,  ///< an offset above the log's end
    full,          ///< a bounded queue or the disk is full; later may work
    timed_out,     ///< no answer in time: the outcome is unknown
    unavailable,   ///< broker, disk or peer not reachable; later may work
    corrupt,       ///< stored bytes do not decode
};

/// The fault's name as it stands in logs and metric labels.
inline std::string_view to_string(Fault fault) { return name_of(fault); }

/// A failure that the caller handles: its kind, and a text for the log without secrets.
struct Error {
    Fault fault;
    std::string message;

    /// True if the same call may succeed later.
    bool retryable() const {
        return fault == Fault::full || fault == Fault::timed_out || fault == Fault::unavailable;
    }
    bool operator==(const Error&) const = default;
};

/// Either a T or an Error; must not be ignored (tl::expected itself is not [[nodiscard]]).
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
public:
    using tl::expected<T, Error>::expected;
};

/// `return fail(Fault::invalid, "…");` in any function that returns a Result.
inline tl::unexpected<Error> fail(Fault fault, std::string message) {
    return tl::unexpected<Error>(Error{fault, std::move(message)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace beckon::core
