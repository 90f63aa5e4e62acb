#pragma once

#include <string>
#include <string_view>

namespace beckon::retry {

/// Keeps the numbers of a JSON text exact through a reader that would round them: each becomes a
/// string that no foreign text can contain, and regains its own text in the reader's output. One
/// document; one thread.
class ExactNumbers {
public:
    ExactNumbers();

    /// JSON with strings in place of the numbers that are not integers of up to 18 digits.
    std::string hidden(std::string_view json) const;
    /// The reader's output, with the numbers again.
    std::string shown(std::string_view json) const;

private:
    const std::string
        tag_;  ///< the prefix of these strings; random, so that no sender can write it
};

}  // namespace beckon::retry
