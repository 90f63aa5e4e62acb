#pragma once

namespace beckon::cli {

class CommandLine;

/// `beckon webhooks …` and `beckon events …`.
void add_webhooks_commands(CommandLine& line);

}  // namespace beckon::cli
