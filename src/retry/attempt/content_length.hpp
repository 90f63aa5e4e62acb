#pragma once

#include <string>
#include <string_view>

namespace beckon::retry {

/// Judges the headers Content-Length of an answer: where one is no number, or two differ, nobody
/// knows where the answer ends, and a client must not use it (RFC 9112 section 6.3). libcurl takes
/// the digits that a value begins with, and of two values the last.
class ContentLength {
public:
    /// The next line of the answer's head, as libcurl gives it to CURLOPT_HEADERFUNCTION. False: it
    /// is invalid. A status line begins anew, as after an interim answer.
    [[nodiscard]] bool take(std::string_view line);

private:
    std::string value_;  ///< empty: there was none
};

}  // namespace beckon::retry
