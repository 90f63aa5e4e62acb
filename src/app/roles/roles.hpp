#pragma once

#include "app/config/config.hpp"
#include "app/process/process.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

/// Composition of the roles: builds the adapters, hands them to the services, waits for a stop, and
/// takes everything down in order. Throw StartupError (or std::runtime_error of a part).
namespace beckon::app {

/// The addresses of a running standalone.
struct Addresses {
    std::string endpoint;   ///< origin
    std::string websocket;  ///< URL
    std::string webhooks;   ///< origin of the API
    std::string ops;        ///< origin
    std::string console;    ///< origin
    bool self_signed = false;
    std::filesystem::path data;
};

struct StandaloneOptions {
    /// Called once the process is ready, on a thread of its own, which the stop ends. With an exit
    /// code as its answer the process stops.
    std::function<std::optional<int>(const Addresses&)> once_ready = nullptr;
    bool new_log =
        false;  ///< the operator declares that an empty log beside a key ring is intended
};

/// Everything in one process on the embedded log.
int run_standalone(Config config, const StandaloneOptions& options);
int run_endpoint(Config config);
int run_edge(Config config);
int run_retry(Config config);
int run_reliability(Config config);
int run_console(Config config);

}  // namespace beckon::app
