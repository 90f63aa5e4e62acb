#pragma once

#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// How the scalars of a filter and of an event compare. Pure.
namespace beckon::retry {

/// Integers of 64 bits; a number with a fraction, an exponent or more digits is a double (IEEE
/// 754). This type holds each of them without a loss.
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64);

/// A JSON number of a filter.
Number number_of(const nlohmann::json& number);

/// One scalar as a key: equal scalars have one key, and no others have it. Numbers of equal value
/// are equal however they are written; strings, numbers and booleans of equal text differ.
std::string number_term(Number number);
std::string text_term(std::string_view text);
std::string boolean_term(bool value);
/// Of a string, a number or a boolean of a filter.
std::string term_of(const nlohmann::json& scalar);

}  // namespace beckon::retry
