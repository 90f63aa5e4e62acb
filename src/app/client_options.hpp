#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

/// Options that several commands share, and checks of their values.
namespace beckon::app {

inline constexpr auto kGreatestNumber =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
/// A whole number up to `most`; CLI11 alone takes -1 for the greatest number there is, and an empty
/// text for 0.
CLI::Validator whole_number(std::uint64_t most = kGreatestNumber, std::uint64_t least = 0);
/// A text that is there: that of a shell's variable which is not set would stand for "all".
CLI::Validator not_empty();

/// An option with a text that is there, and one with a whole number.
template <class Target>
CLI::Option* add_text(CLI::App& command, const char* name, Target& target,
                      const std::string& help) {
    return command.add_option(name, target, help)->check(not_empty());
}
template <class Target>
CLI::Option* add_number(CLI::App& command, const char* name, Target& target,
                        const std::string& help, std::uint64_t most = kGreatestNumber,
                        std::uint64_t least = 0) {
    return command.add_option(name, target, help)->check(whole_number(most, least));
}

/// A duration in the notation of the configuration ("5s").
void add_duration(CLI::App& command, const char* name, const char* help,
                  std::function<void(std::chrono::milliseconds)> set);

/// --insecure and --ca-file.
void add_trust(CLI::App& command, bool& insecure, std::optional<std::filesystem::path>& ca_file);

}  // namespace beckon::app
