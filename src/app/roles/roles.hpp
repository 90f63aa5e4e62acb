#pragma once

#include "app/config/config.hpp"
#include "app/process/process.hpp"
#include "tools/demo/demo.hpp"

#include <optional>

/// Composition of the roles: builds the adapters, hands them to the services, waits for a stop, and
/// takes everything down in order. Throw StartupError (or std::runtime_error of a part).
namespace beckon::app {

struct StandaloneOptions {
    bool demo = false;  ///< once ready, show one push travelling
    /// Once ready, run this demo, wherever its URL points, and stop with its exit code.
    std::optional<tools::DemoOptions> only_demo = std::nullopt;
    bool new_log =
        false;  ///< the operator declares that an empty log beside a key ring is intended
};

/// Everything in one process on the embedded log.
int run_standalone(Config config, const Signals& signals, const StandaloneOptions& options);
int run_endpoint(Config config, const Signals& signals);
int run_edge(Config config, const Signals& signals);
int run_retry(Config config, const Signals& signals);
int run_reliability(Config config, const Signals& signals);
int run_console(Config config, const Signals& signals);

}  // namespace beckon::app
