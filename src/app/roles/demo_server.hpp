#pragma once

#include "app/config/config.hpp"
#include "tools/demo/demo.hpp"

namespace beckon::app {

/// `beckon demo` without a URL: against the server at the default address or, if nothing listens
/// there, against one of its own, which keeps its data in a temporary directory and ends with the
/// demo. Returns the demo's exit code.
int run_demo_anywhere(const tools::DemoOptions& options);

/// `beckon demo --webhooks`: the same with the API for webhooks that the configuration names; its
/// key ring makes the token.
int run_webhook_demo_anywhere(const Config& config, const tools::DemoOptions& options);

}  // namespace beckon::app
