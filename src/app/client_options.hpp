#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

/// Options that several commands share, and checks of their values.
namespace beckon::app {

/// A whole number up to `most`; CLI11 alone takes -1 for the greatest number there is, and an empty
/// text for 0.
CLI::Validator whole_number(
    std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
    std::uint64_t least = 0);
/// A text that is there: that of a shell's variable which is not set would stand for "all".
CLI::Validator not_empty();

/// A duration in the notation of the configuration ("5s").
void add_duration(CLI::App& command, const char* name, const char* help,
                  std::function<void(std::chrono::milliseconds)> set);

/// --insecure and --ca-file.
void add_trust(CLI::App& command, bool& insecure, std::optional<std::filesystem::path>& ca_file);

}  // namespace beckon::app
