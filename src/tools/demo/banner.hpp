#pragma once

#include "ops/health.hpp"
#include "tools/demo/demo.hpp"

#include <filesystem>
#include <stop_token>
#include <string>

namespace beckon::tools {

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

/// Waits until the server is ready, runs `demo` against it, and returns its exit code.
int show_demo(const Addresses& addresses, DemoOptions demo, const ops::Health& health,
              const std::stop_token& stop);

/// Waits until the server is ready, sends one push through it as `beckon demo` does, and prints the
/// addresses and commands to try next. For `./dev run`; its own thread.
void show_first_push(const Addresses& addresses, const ops::Health& health,
                     const std::stop_token& stop);

/// The addresses, and commands to try next, as show_first_push() prints them.
std::string what_to_try(const Addresses& addresses);

}  // namespace beckon::tools
