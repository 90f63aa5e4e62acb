#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// `beckon webhooks …` and `beckon events …`.
void add_webhooks_commands(app::CommandLine& line);

}  // namespace beckon::tools
