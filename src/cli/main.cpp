#include "cli/backup/backup_command.hpp"
#include "cli/broadcasts/broadcasts_command.hpp"
#include "cli/cluster/cluster_command.hpp"
#include "cli/command_line.hpp"
#include "cli/config/config_command.hpp"
#include "cli/dead/dead_command.hpp"
#include "cli/doctor/doctor_command.hpp"
#include "cli/keys/keys_command.hpp"
#include "cli/lag/lag_command.hpp"
#include "cli/lookup/lookup_command.hpp"
#include "cli/process/process.hpp"
#include "cli/push/push_command.hpp"
#include "cli/reference/reference_command.hpp"
#include "cli/replay/replay_command.hpp"
#include "cli/roles/demo_command.hpp"
#include "cli/roles/roles_command.hpp"
#include "cli/subscriptions/subscriptions_command.hpp"
#include "cli/topics/topics_command.hpp"
#include "cli/trace/trace_command.hpp"
#include "cli/webhooks/webhooks_command.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
    using namespace beckon::cli;
    try {
        CommandLine line;
        add_roles_commands(line);
        add_topics_command(line);
        add_cluster_command(line);
        add_keys_command(line);
        add_subscriptions_command(line);
        add_broadcasts_command(line);
        add_config_command(line);
        add_lookup_commands(line);
        add_trace_command(line);
        add_doctor_command(line);
        add_replay_commands(line);
        add_lag_command(line);
        add_push_commands(line);
        add_demo_command(line);
        add_webhooks_commands(line);
        add_dead_commands(line);
        add_backup_command(line);
        add_reference_command(line);
        return line.run(argc, argv);
    } catch (const StartupError& error) {
        std::cerr << "beckon: " << error.what() << "\n";
        return error.exit_code();
    } catch (const std::exception& error) {
        std::cerr << "beckon: " << error.what() << "\n";
        return 1;
    }
}
