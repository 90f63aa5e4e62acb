#pragma once

#include <string>
#include <string_view>

namespace beckon::retry {

/// Brings numbers through a reader that would round them: they travel as strings that no text of
/// others can have, and get their own text back in what the reader writes. One document; one
/// thread.
class ExactNumbers {
public:
    ExactNumbers();

    /// JSON with strings in place of the numbers that are not integers of up to 18 digits.
    std::string hidden(std::string_view json) const;
    /// What was written from that, with the numbers again.
    std::string shown(std::string_view json) const;

private:
    const std::string tag_;  ///< how such a string begins; random, so that nobody else can write it
};

}  // namespace beckon::retry
