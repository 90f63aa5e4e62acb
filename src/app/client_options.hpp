#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

namespace CLI {
class App;
}

/// Options that the commands of both other ends share: `listen`, `push`, `demo`.
namespace beckon::app {

/// A duration in the notation of the configuration ("5s").
void add_duration(CLI::App& command, const char* name, const char* help,
                  std::function<void(std::chrono::milliseconds)> set);

/// --insecure and --ca-file.
void add_trust(CLI::App& command, bool& insecure, std::optional<std::filesystem::path>& ca_file);

}  // namespace beckon::app
