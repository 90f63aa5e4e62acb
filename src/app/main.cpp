#include "app/command_line.hpp"
#include "app/config/config_command.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "app/roles/commands.hpp"
#include "core/setup_error.hpp"
#include "tools/commands.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
    using namespace beckon;
    try {
        app::CommandLine line;
        app::add_roles_commands(line);
        tools::add_topics_command(line);
        tools::add_cluster_command(line);
        tools::add_keys_command(line);
        tools::add_subscriptions_command(line);
        tools::add_broadcasts_command(line);
        app::add_config_command(line);
        tools::add_message_command(line);
        tools::add_doctor_command(line);
        tools::add_replay_commands(line);
        tools::add_lag_command(line);
        tools::add_push_commands(line);
        app::add_demo_command(line);
        tools::add_webhooks_commands(line);
        tools::add_dead_commands(line);
        tools::add_backup_command(line);
        tools::add_reference_command(line);
        return line.run(argc, argv);
    } catch (const app::StartupError& error) {
        std::cerr << "beckon: " << error.what() << "\n";
        return error.exit_code();
    } catch (const core::SetupError& error) {
        std::cerr << "beckon: " << error.what() << "\n";
        return app::kWrongOptions;
    } catch (const std::exception& error) {
        std::cerr << "beckon: " << error.what() << "\n";
        return app::kFailed;
    }
}
