#pragma once

namespace CLI {
class App;
}

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// `beckon replay redrive`, which is `beckon dead redrive`.
void add_replay_redrive(app::CommandLine& line, CLI::App& group);

}  // namespace beckon::tools
