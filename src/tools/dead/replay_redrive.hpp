#pragma once

namespace CLI {
class App;
}

namespace beckon::cli {

class CommandLine;

/// `beckon replay redrive`, which is `beckon dead redrive`.
void add_replay_redrive(CommandLine& line, CLI::App& group);

}  // namespace beckon::cli
