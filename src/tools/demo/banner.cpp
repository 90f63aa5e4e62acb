#include "tools/demo/banner.hpp"

#include "app/command/own_command.hpp"
#include "tools/api/access.hpp"
#include "tools/demo/webhook_demo.hpp"

#include <chrono>
#include <iostream>
#include <sstream>
#include <thread>

namespace beckon::tools {

namespace {

constexpr std::chrono::milliseconds kPoll{20};

bool wait_until_ready(const ops::Health& health, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (health.report().ready) return true;
        std::this_thread::sleep_for(kPoll);
    }
    return false;
}

int show_webhook_demo(const Addresses& addresses, const DemoOptions& demo) {
    app::Config config;
    config.data = addresses.data;
    return run_webhook_demo(
        {.api = api_options(config, {.url = addresses.webhooks, .insecure = demo.insecure}),
         .timeout = demo.timeout,
         .json = demo.json});
}

}  // namespace

std::string what_to_try(const Addresses& at) {
    const std::string insecure = at.self_signed ? " --insecure" : "";
    const auto beckon = app::own_command();
    std::ostringstream out;
    out << "\nBeckon is running.\n"
           "  application servers POST to   "
        << at.endpoint << "/wpush/…\n  clients connect to            " << at.websocket
        << "\n  events and webhooks           " << at.webhooks
        << "\n  health and metrics            " << at.ops << "/ready  " << at.ops
        << "/metrics\n  console                       " << at.console
        << "/\n  everything is kept in         " << at.data.string()
        << "\n\nTry next, in another terminal:\n  " << beckon << " listen " << at.websocket
        << insecure << " --state me.json\n  " << beckon << " push me.json \"Hello\"" << insecure
        << "\nFirefox: about:config, dom.push.serverURL = " << at.websocket
        << "\n         and dom.push.testing.allowInsecureServerURL = true (README.md has the "
           "rest).\n"
           "Ctrl-C stops it.\n";
    return out.str();
}

void show_first_push(const Addresses& addresses, const ops::Health& health,
                     const std::stop_token& stop) {
    if (!wait_until_ready(health, stop)) return;
    const DemoOptions options{.url = addresses.websocket, .insecure = addresses.self_signed};
    run_demo(options);
    std::cout << what_to_try(addresses) << std::flush;
}

int show_demo(const Addresses& addresses, DemoOptions demo, const ops::Health& health,
              const std::stop_token& stop) {
    if (!wait_until_ready(health, stop)) return 1;
    demo.insecure = addresses.self_signed;
    if (demo.webhooks) return show_webhook_demo(addresses, demo);
    demo.url = addresses.websocket;
    return run_demo(demo);
}

}  // namespace beckon::tools
