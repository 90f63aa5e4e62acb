#include "app/config/config_command.hpp"

#include "app/command_line.hpp"
#include "app/config/config_text.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

namespace beckon::app {

namespace {

constexpr int kWrongConfiguration = 2;

/// Prints, and judges as a start of `role` would.
int print(Config config, const Sources& sources, const std::string& role) {
    std::cout << print_config(config, sources);
    const auto faults = faults_of(config, role_of(config, role));
    for (const auto& fault : faults) {
        std::cerr << "beckon: " << fault.where << ": " << fault.what << "\n";
    }
    return faults.empty() ? 0 : kWrongConfiguration;
}

}  // namespace

void add_config_command(CommandLine& line) {
    static std::string role;
    auto& group = line.add_group("config", "Show the configuration in force, or all settings");
    line.add_configured(group, "print", "Show each value in force and where it came from, as TOML",
                        Reader::any,
                        [](Config config, const Sources& sources) {
                            return print(std::move(config), sources, role);
                        })
        .add_option("--role", role,
                    "Judge the configuration as a start of this role would; by default endpoint if "
                    "kafka.servers is set, else standalone")
        ->check(CLI::IsMember(std::vector<std::string>{kRoleNames.begin(), kRoleNames.end()}));
    line.add(group, "reference", "Print docs/configuration.md", [] {
        std::cout << config_reference();
        return 0;
    });
}

}  // namespace beckon::app
