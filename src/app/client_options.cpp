#include "app/client_options.hpp"

#include "app/config/setting.hpp"

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace beckon::app {

void add_duration(CLI::App& command, const char* name, const char* help,
                  std::function<void(std::chrono::milliseconds)> set) {
    command.add_option_function<std::string>(
        name,
        [name, set = std::move(set)](const std::string& text) {
            const auto value = parse_duration(text);
            if (!value) {
                throw CLI::ValidationError(name, "'" + text + "': " + value.error().message);
            }
            set(*value);
        },
        help);
}

void add_trust(CLI::App& command, bool& insecure, std::optional<std::filesystem::path>& ca_file) {
    command.add_flag("--insecure", insecure, "Accept any TLS certificate of the server");
    command.add_option("--ca-file", ca_file, "PEM file of certificates to trust")
        ->check(CLI::ExistingFile);
}

}  // namespace beckon::app
