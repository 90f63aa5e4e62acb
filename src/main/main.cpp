#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/config/config_text.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "core/setup_error.hpp"
#include "main/commands.hpp"
#include "tools/commands.hpp"

#include <exception>
#include <string>
#include <string_view>

#include <unistd.h>

namespace {

/// Says more than the runtime does, before the process aborts: during a start that fails for want
/// of memory or threads, threads that run already end it.
void say_why_it_aborts() noexcept {
    constexpr std::string_view kWhy =
        "beckon: the process aborts: an exception left a thread or a destructor; if it was "
        "starting, it may have too little memory (ulimit -v) or too few threads (ulimit -u)\n";
    static_cast<void>(!::write(STDERR_FILENO, kWhy.data(), kWhy.size()));
}

}  // namespace

int main(int argc, char** argv) {
    using namespace beckon;
    static const std::terminate_handler abort_with_cause = std::set_terminate([] {
        say_why_it_aborts();
        abort_with_cause();
    });
    try {
        app::CommandLine line;
        add_roles_commands(line);
        tools::add_topics_command(line);
        tools::add_cluster_command(line);
        tools::add_keys_command(line);
        tools::add_subscriptions_command(line);
        tools::add_senders_command(line);
        tools::add_broadcasts_command(line);
        app::add_config_command(line);
        tools::add_message_command(line);
        tools::add_doctor_command(line);
        tools::add_replay_commands(line);
        tools::add_lag_command(line);
        tools::add_push_commands(line);
        add_demo_command(line);
        tools::add_webhooks_commands(line);
        tools::add_dead_commands(line);
        tools::add_backup_command(line);
        tools::add_reference_command(line);
        return line.run(argc, argv);
    } catch (const app::StartupError& error) {
        app::print_error(std::string{"beckon: "} + error.what());
        return error.exit_code();
    } catch (const core::SetupError& error) {
        app::print_error(std::string{"beckon: "} + error.what());
        return app::kWrongOptions;
    } catch (const std::exception& error) {
        app::print_error(std::string{"beckon: "} + error.what());
        return app::kFailed;
    }
}
