#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

/// How the scalars of an event compare. Pure.
namespace beckon::retry {

/// -1, 0, 1: how a number stands to another. Integers of 64 bits compare as integers, also with
/// fractions; a number with a fraction, an exponent or more digits is a double (IEEE 754).
int compare_numbers(const nlohmann::json& a, const nlohmann::json& b);

/// One scalar as a key: equal scalars have one key, and no others have it. Numbers of equal value
/// are equal however they are written; strings, numbers and booleans of equal text differ.
std::string term_of(const nlohmann::json& scalar);

}  // namespace beckon::retry
