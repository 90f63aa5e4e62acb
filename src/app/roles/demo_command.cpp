#include "app/client_options.hpp"
#include "app/command_line.hpp"
#include "app/roles/commands.hpp"
#include "app/roles/demo_server.hpp"
#include "tools/demo/demo.hpp"

#include <CLI/CLI.hpp>

namespace beckon::app {

void add_demo_command(CommandLine& line) {
    static tools::DemoOptions o;  // CLI11 keeps references to the values that it fills
    static const CLI::Option* url = nullptr;
    auto& command = line.add_configured(
        line.top(), "demo", "Send one push through a server, and show each step", Reader::webhooks,
        [](const Config& config, const Sources&) {
            if (o.webhooks) return run_webhook_demo_anywhere(config, o);
            return url->count() ? tools::run_demo(o) : run_demo_anywhere(o);
        });
    url = command
              .add_option("URL", o.url,
                          "WebSocket URL of an edge, ws or wss; without it, a server is started "
                          "for the demo if none is at the default address")
              ->capture_default_str();
    add_trust(command, o.insecure, o.ca_file);
    command.add_flag("--webhooks", o.webhooks,
                     "Send an event to a webhook instead, through the API for webhooks");
    command.add_option("--text", o.text, "Text of the message")->capture_default_str();
    command.add_flag_function(
        "--no-vapid", [](std::int64_t) { o.vapid = false; },
        "Do not sign, and do not bind the subscription to a key");
    add_duration(command, "--timeout", "Time limit of each step (e.g. 15s)",
                 [](auto value) { o.timeout = value; });
    command.add_flag("--json", o.json, "One JSON object at the end");
}

}  // namespace beckon::app
