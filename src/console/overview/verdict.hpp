#pragma once

#include "console/overview/facts.hpp"
#include "core/enum_names.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Is everything all right? Pure functions, any thread.
namespace beckon::console {

enum class Level : std::uint8_t { ok, warning, bad };
inline std::string_view to_string(Level level) { return core::name_of(level); }

/// Something that is wrong.
struct Finding {
    Level level = Level::warning;
    std::string what;     ///< one sentence, which says where
    std::string todo;     ///< what a person does now
    std::string section;  ///< of docs/operations/troubleshooting.md
    std::string page;     ///< of the console, with what follows it in its address
    bool operator==(const Finding&) const = default;
};

struct Verdict {
    Level level = Level::ok;
    std::string sentence;           ///< whether push works, and the worst findings
    std::vector<Finding> findings;  ///< the worst first
};

/// A clock that differs by more is a finding: from about a minute on VAPID tokens are refused.
inline constexpr std::chrono::seconds kClockOffMax{30};
/// Until this after its start a process that is not ready is a warning, later a fault.
inline constexpr std::chrono::seconds kStartMax{60};
/// A tier is late by more than this.
inline constexpr std::chrono::seconds kOverdueMax{60};
/// Findings in the sentence; the others are counted.
inline constexpr std::size_t kSentenceMax = 3;

/// The part of the disk of a process that is free; nullopt: not known.
std::optional<double> free_share(const ProcessFacts& process);
/// Whether the disk of a process is short of space, or full; ok where that is not known.
Level disk_level(const ProcessFacts& process);

Verdict judge(const Installation& facts);

}  // namespace beckon::console
