#include "retry/filter/scalars.hpp"

#include "core/json_text.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Json = nlohmann::json;

namespace {

constexpr double kTwoTo63 = 9'223'372'036'854'775'808.0;

/// -1, 0, 1, with a number of any size.
template <class A, class B>
int order_of(const A& a, const B& b) {
    return a < b ? -1 : (b < a ? 1 : 0);
}

/// Calls `f` with the integer in the type that holds it.
template <class F>
int with_integer(const Json& number, F&& f) {
    return number.is_number_unsigned() ? f(number.get<std::uint64_t>())
                                       : f(number.get<std::int64_t>());
}

template <class Integer>
int compare_integers(Integer a, const Json& b) {
    return with_integer(b, [a](auto other) {
        return std::cmp_less(a, other) ? -1 : (std::cmp_less(other, a) ? 1 : 0);
    });
}

/// A double has all integers of its size, or none but some: so both are compared as integers, and
/// the fraction decides where those are equal.
template <class Integer>
int compare_with_double(Integer integer, double other) {
    if (other >= 2 * kTwoTo63) return -1;
    if (other < -kTwoTo63) return 1;
    const auto whole = std::floor(other);
    const auto order = whole < 0
                           ? compare_integers(integer, Json(static_cast<std::int64_t>(whole)))
                           : compare_integers(integer, Json(static_cast<std::uint64_t>(whole)));
    if (order != 0) return order;
    return other > whole ? -1 : 0;
}

/// The double as an integer of 64 bits, if it is one.
std::optional<Json> integer_of(double value) {
    if (std::floor(value) != value || value < -kTwoTo63 || value >= 2 * kTwoTo63) {
        return std::nullopt;
    }
    return value < 0 ? Json(static_cast<std::int64_t>(value))
                     : Json(static_cast<std::uint64_t>(value));
}

}  // namespace

int compare_numbers(const Json& a, const Json& b) {
    if (a.is_number_float() && b.is_number_float())
        return order_of(a.get<double>(), b.get<double>());
    if (a.is_number_float()) return -compare_numbers(b, a);
    return with_integer(a, [&b](auto integer) {
        return b.is_number_float() ? compare_with_double(integer, b.get<double>())
                                   : compare_integers(integer, b);
    });
}

std::string term_of(const Json& scalar) {
    if (scalar.is_number_float()) {
        const auto integer = integer_of(scalar.get<double>());
        return "n" + core::json_text(integer.value_or(scalar));
    }
    if (scalar.is_number()) return "n" + core::json_text(scalar);
    if (scalar.is_boolean()) return scalar.get<bool>() ? "b1" : "b0";
    return scalar.is_string() ? "s" + scalar.get_ref<const std::string&>() : "x";
}

}  // namespace beckon::retry
