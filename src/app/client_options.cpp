#include "app/client_options.hpp"

#include "app/config/setting.hpp"
#include "core/decimal.hpp"

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace beckon::app {

CLI::Validator whole_number(std::uint64_t most, std::uint64_t least) {
    return CLI::Validator{[most, least](const std::string& text) {
                              const auto number = core::parse_decimal<std::uint64_t>(text);
                              if (number && *number >= least && *number <= most) {
                                  return std::string{};
                              }
                              return "'" + text + "' is no whole number from " +
                                     std::to_string(least) + " to " + std::to_string(most);
                          },
                          ""};
}

CLI::Validator not_empty() {
    return CLI::Validator{
        [](const std::string& text) { return std::string{text.empty() ? "is empty" : ""}; }, ""};
}

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
