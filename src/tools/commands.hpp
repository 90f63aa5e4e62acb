#pragma once

namespace CLI {
class App;
}

namespace beckon::app {
class CommandLine;
}

/// Every command of this folder. Each function adds a command, or a group with its commands, to
/// the command line; <folder>/<folder>_command.cpp reads its options.
namespace beckon::tools {

void add_backup_command(app::CommandLine& line);
void add_broadcasts_command(app::CommandLine& line);
void add_cluster_command(app::CommandLine& line);
/// `beckon dead list|show|redrive|drop`.
void add_dead_commands(app::CommandLine& line);
/// Exit codes: 0 nothing is bad, 1 something is.
void add_doctor_command(app::CommandLine& line);
void add_keys_command(app::CommandLine& line);
void add_lag_command(app::CommandLine& line);
/// `message`, and its alias `trace`.
void add_message_command(app::CommandLine& line);
/// `listen` and `push`.
void add_push_commands(app::CommandLine& line);
/// `reference`, which help does not list: it is for packagers.
void add_reference_command(app::CommandLine& line);
/// Adds `counts`, `show` and `report` to `beckon reliability`, which is a role by itself. They ask
/// the ops port of a process with that role.
void add_reliability_commands(app::CommandLine& line, CLI::App& role);
/// Exit codes: 0 something was shown, 1 failed, 2 the options are wrong, 3 nothing fits the
/// selection. `verify`: 0 all partitions agree, 1 one does not.
void add_replay_commands(app::CommandLine& line);
/// `beckon replay redrive`, which is `beckon dead redrive`.
void add_replay_redrive(app::CommandLine& line, CLI::App& group);
/// `beckon senders list|block|unblock|limit`.
void add_senders_command(app::CommandLine& line);
void add_subscriptions_command(app::CommandLine& line);
/// Exit codes: 0 done, 1 refused or failed.
void add_topics_command(app::CommandLine& line);
/// `beckon webhooks …` and `beckon events …`.
void add_webhooks_commands(app::CommandLine& line);
/// `beckon webhooks redrive ID`.
void add_webhook_redrive(app::CommandLine& line, CLI::App& group);

}  // namespace beckon::tools
