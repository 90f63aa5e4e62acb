#include "tools/doctor/finding.hpp"

#include "core/json_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

constexpr std::size_t kVerdictWidth = 8;
constexpr std::size_t kWhatWidth = 24;

std::string padded(std::string_view text, std::size_t width) {
    std::string out{text};
    out.resize(std::max(width, out.size() + 1), ' ');
    return out;
}

}  // namespace

void append(Findings& findings, const Findings& more) {
    findings.insert(findings.end(), more.begin(), more.end());
}

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::good: return "ok";
        case Verdict::unknown: return "unknown";
        case Verdict::doubtful: return "warning";
        case Verdict::bad: return "BAD";
    }
    return "unknown";
}

std::string findings_text(const Findings& findings) {
    std::string out;
    for (const auto& finding : findings) {
        out += padded(to_string(finding.verdict), kVerdictWidth) +
               padded(finding.what, kWhatWidth) + finding.detail;
        if (!finding.remedy.empty()) out += " -> " + finding.remedy;
        out += "\n";
    }
    return out;
}

std::string findings_json(const Findings& findings) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& finding : findings) {
        out.push_back({{"verdict", to_string(finding.verdict)},
                       {"what", finding.what},
                       {"detail", finding.detail},
                       {"remedy", finding.remedy}});
    }
    return core::json_text(out);
}

int exit_code(const Findings& findings) {
    const bool bad = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.verdict == Verdict::bad;
    });
    return bad ? 1 : 0;
}

}  // namespace beckon::tools
