#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::tools {

enum class Verdict : std::uint8_t {
    good,
    unknown,   ///< could not be checked
    doubtful,  ///< works, and is not as it should be
    bad,       ///< does not work, or a promise is not kept
};
std::string_view to_string(Verdict verdict);

/// A finding of `beckon doctor` at one place.
struct Finding {
    Verdict verdict = Verdict::good;
    std::string what = {};    ///< "clock", "key ring"
    std::string detail = {};  ///< the observation
    std::string remedy = {};  ///< the remedy; empty if there is nothing to do
    bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;
void append(Findings& findings, const Findings& more);

/// One line each.
std::string findings_text(const Findings& findings);
/// One JSON array in one line.
std::string findings_json(const Findings& findings);
/// 0: nothing is bad; 1 otherwise.
int exit_code(const Findings& findings);

}  // namespace beckon::tools
