#pragma once

#include "cli/config/config.hpp"
#include "cli/roles/process.hpp"

/// Composition of the roles: builds the adapters, hands them to the services, waits for a stop, and
/// takes everything down in order. Throw StartupError (or std::runtime_error of a part).
namespace beckon::cli {

/// Everything in one process on the embedded log. `demo`: once ready, show one push travelling.
int run_standalone(Config config, const Signals& signals, bool demo);
int run_endpoint(Config config, const Signals& signals);
int run_edge(Config config, const Signals& signals);

/// "0.1.0 (commit)".
std::string version_text();

}  // namespace beckon::cli
