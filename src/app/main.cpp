#include "tools/backup/backup_command.hpp"
#include "tools/broadcasts/broadcasts_command.hpp"
#include "tools/cluster/cluster_command.hpp"
#include "app/command_line.hpp"
#include "app/config/config_command.hpp"
#include "tools/dead/dead_command.hpp"
#include "tools/doctor/doctor_command.hpp"
#include "tools/keys/keys_command.hpp"
#include "tools/lag/lag_command.hpp"
#include "tools/lookup/lookup_command.hpp"
#include "app/process/process.hpp"
#include "tools/push/push_command.hpp"
#include "tools/reference/reference_command.hpp"
#include "tools/replay/replay_command.hpp"
#include "app/roles/demo_command.hpp"
#include "app/roles/roles_command.hpp"
#include "tools/subscriptions/subscriptions_command.hpp"
#include "tools/topics/topics_command.hpp"
#include "tools/trace/trace_command.hpp"
#include "tools/webhooks/webhooks_command.hpp"

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
