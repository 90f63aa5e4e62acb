#pragma once

#include "app/config/config_values.hpp"

#include <string>

namespace beckon::app {

class CommandLine;

/// Adds `config` and its commands.
void add_config_command(CommandLine& line);

/// `config print`: TOML with each value and where it came from, secrets masked, warnings where a
/// value gives up a promise.
std::string print_config(Config& config, const Sources& sources);
/// docs/configuration.md.
std::string config_reference();

}  // namespace beckon::app
