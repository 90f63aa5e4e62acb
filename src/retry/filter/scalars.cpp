#include "retry/filter/scalars.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Json = nlohmann::json;

namespace {

constexpr double kTwoTo63 = 9'223'372'036'854'775'808.0;

template <class A, class B>
constexpr bool kBothReal = std::is_floating_point_v<A>&& std::is_floating_point_v<B>;

/// The integer part of a double, if it is one of 64 bits.
std::optional<Number> integer_part(double value) {
    const auto whole = std::floor(value);
    if (!(whole >= -kTwoTo63) || whole >= 2 * kTwoTo63) return std::nullopt;
    if (whole < 0) return static_cast<std::int64_t>(whole);
    return static_cast<std::uint64_t>(whole);
}

/// A double has all integers of its size, or none but some: so both are compared as integers, and
/// the fraction decides where those are equal.
template <class Integer>
int compare_with_double(Integer integer, double other) {
    const auto whole = integer_part(other);
    if (!whole) return other > 0 ? -1 : 1;
    const auto order = compare_numbers(integer, *whole);
    return order == 0 && other > std::floor(other) ? -1 : order;
}

template <class A, class B>
int compare(A a, B b) {
    if constexpr (kBothReal<A, B>) {
        return a < b ? -1 : (b < a ? 1 : 0);
    } else if constexpr (std::is_floating_point_v<A>) {
        return -compare_with_double(b, a);
    } else if constexpr (std::is_floating_point_v<B>) {
        return compare_with_double(a, b);
    } else {
        return std::cmp_less(a, b) ? -1 : (std::cmp_less(b, a) ? 1 : 0);
    }
}

template <class N>
std::string digits_of(N number) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return {text.data(), end};
}

}  // namespace

Number number_of(const Json& number) {
    if (number.is_number_float()) return number.get<double>();
    if (number.is_number_unsigned()) return number.get<std::uint64_t>();
    return number.get<std::int64_t>();
}

int compare_numbers(const Number& a, const Number& b) {
    return std::visit([](auto one, auto other) { return compare(one, other); }, a, b);
}

std::string number_term(const Number& number) {
    const auto* real = std::get_if<double>(&number);
    const auto whole =
        real && std::floor(*real) == *real ? integer_part(*real) : std::optional<Number>{};
    return "n" + std::visit([](auto value) { return digits_of(value); }, whole.value_or(number));
}

std::string text_term(std::string_view text) { return std::string{"s"}.append(text); }
std::string boolean_term(bool value) { return value ? "b1" : "b0"; }

std::string term_of(const Json& scalar) {
    if (scalar.is_number()) return number_term(number_of(scalar));
    if (scalar.is_boolean()) return boolean_term(scalar.get<bool>());
    return text_term(scalar.get_ref<const std::string&>());
}

}  // namespace beckon::retry
