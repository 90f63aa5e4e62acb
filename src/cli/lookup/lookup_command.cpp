#include "cli/lookup/lookup_command.hpp"

#include "cli/command_line.hpp"
#include "cli/lookup/lookup_tool.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

namespace beckon::cli {

void add_lookup_commands(CommandLine& line) {
    static std::string url;
    line.add_configured(
            line.top(), "message",
            "Say how log lines name a message and its client, given its URL or the "
            "endpoint URL that it was sent to",
            Reader::keys,
            [](const Config& config, const Sources&) { return look_up(config, url, std::cout); })
        .add_option("URL", url,
                    "The Location of a 201, its last part (`version`), or an endpoint URL")
        ->required();
}

}  // namespace beckon::cli
