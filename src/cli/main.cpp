#include "cli/bench/bench_command.hpp"
#include "cli/config/config.hpp"
#include "cli/keys/keys_tool.hpp"
#include "cli/push/push_command.hpp"
#include "cli/roles/process.hpp"
#include "cli/roles/roles.hpp"
#include "cli/subscriptions/subscriptions_tool.hpp"
#include "cli/topics/topics_command.hpp"
#include "core/logger.hpp"

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

extern char** environ;

namespace beckon::cli {

namespace {

constexpr const char* kDescription =
    "Beckon: an event-sourced Web Push service.\n"
    "First try:  beckon standalone --demo\n"
    "On Kafka:   beckon topics create, then beckon endpoint and beckon edge";

/// What the command line says about the configuration, before it is applied.
struct Configured {
    std::string file;
    std::vector<RawValue> flags;
    std::vector<std::string> pass_through;
};

/// Gives `command` every setting as a flag, and --config.
void add_settings(CLI::App& command, Configured& configured, const std::vector<Setting>& settings) {
    command.add_option("--config", configured.file, "TOML file (BECKON_CONFIG)")
        ->group("Configuration");
    for (const auto& setting : settings) {
        const auto dot = setting.name.find('.');
        const auto group = dot == std::string::npos ? "Process" : setting.name.substr(0, dot);
        auto shown = setting.help;
        const auto value = setting.get();
        if (!value.empty()) shown += " [" + value + "]";
        command
            .add_option_function<std::string>(
                flag_of(setting),
                [&configured, name = setting.name,
                 flag = flag_of(setting)](const std::string& text) {
                    configured.flags.push_back({name, text, flag});
                },
                shown)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
            ->type_name(setting.allowed.size() < 24 ? setting.allowed : "VALUE")
            ->group(group);
    }
    command
        .add_option("--kafka-librdkafka", configured.pass_through,
                    "An option for librdkafka, name=value; may be repeated")
        ->group("kafka");
    command.allow_extras();
}

std::vector<ConfigFault> gather(const Configured& configured, const std::vector<Setting>& settings,
                                std::vector<RawValue>& values) {
    std::vector<ConfigFault> faults;
    auto environment = read_environment(environ, settings);
    std::string file = configured.file;
    std::erase_if(environment, [&file](const RawValue& value) {
        if (value.name != "BECKON_CONFIG") return false;
        if (file.empty()) file = value.value;
        return true;
    });
    if (!file.empty()) {
        auto read = read_config_file(file);
        if (read) {
            values = std::move(*read);
        } else {
            faults.push_back({"--config", read.error().message});
        }
    }
    values.insert(values.end(), environment.begin(), environment.end());
    values.insert(values.end(), configured.flags.begin(), configured.flags.end());
    for (const auto& option : configured.pass_through) {
        const auto equals = option.find('=');
        if (equals == std::string::npos || equals == 0) {
            faults.push_back({"--kafka-librdkafka", "'" + option + "' is not name=value"});
            continue;
        }
        values.push_back({"kafka.librdkafka." + option.substr(0, equals), option.substr(equals + 1),
                          "--kafka-librdkafka"});
    }
    return faults;
}

void report_extras(const CLI::App& command, const std::vector<Setting>& settings,
                   std::vector<ConfigFault>& faults) {
    std::vector<std::string> known{"--config", "--kafka-librdkafka", "--help", "--demo"};
    for (const auto& setting : settings) known.push_back(flag_of(setting));
    for (const auto& extra : command.remaining()) {
        if (!extra.starts_with("-")) continue;
        const auto name = extra.substr(0, extra.find('='));
        const auto near = nearest(name, known);
        faults.push_back(
            {name, "unknown option" + (near ? "; did you mean '" + *near + "'?" : "")});
    }
    for (const auto& extra : command.remaining()) {
        if (extra.starts_with("-") || !faults.empty()) continue;
        faults.push_back({extra, "is neither an option nor a command"});
    }
}

void start_logging(const Config& config) {
    const auto level = config.log_level == "debug"   ? core::LogLevel::debug
                       : config.log_level == "warn"  ? core::LogLevel::warn
                       : config.log_level == "error" ? core::LogLevel::error
                                                     : core::LogLevel::info;
    const bool text = config.log_format == "text" ||
                      (config.log_format == "auto" && ::isatty(STDERR_FILENO) == 1);
    core::configure_logging(level, text ? core::LogFormat::text : core::LogFormat::json);
}

/// Commands that need the configuration run through this: all faults at once, exit code 2.
int with_config(const CLI::App& command, const Configured& configured,
                const std::function<int(Config, const Sources&)>& run) {
    Config config;
    const auto settings = settings_of(config);
    std::vector<RawValue> values;
    Sources sources;
    auto faults = gather(configured, settings, values);
    report_extras(command, settings, faults);
    const auto more = apply(values, config, sources);
    faults.insert(faults.end(), more.begin(), more.end());
    if (!faults.empty()) {
        for (const auto& fault : faults)
            std::cerr << "beckon: " << fault.where << ": " << fault.what << "\n";
        std::cerr << "beckon: " << faults.size() << (faults.size() == 1 ? " fault" : " faults")
                  << " in the configuration; `beckon " << command.get_name()
                  << " --help` lists all options\n";
        return 2;
    }
    start_logging(config);
    return run(std::move(config), sources);
}

int run(int argc, char** argv) {
    CLI::App app{kDescription, "beckon"};
    app.set_version_flag("--version", "beckon " + version_text());
    app.require_subcommand(1);
    Config defaults;
    const auto settings = settings_of(defaults);
    Configured configured;
    std::function<int()> chosen;

    const auto role = [&](const char* name, const char* help, auto body) {
        auto* command = app.add_subcommand(name, help);
        add_settings(*command, configured, settings);
        command->callback([&configured, &chosen, command, body] {
            chosen = [&configured, command, body] {
                return with_config(*command, configured, body);
            };
        });
        return command;
    };

    bool demo = false;
    role("standalone", "Everything in one process on the embedded log",
         [&](Config config, const Sources&) {
             return run_standalone(std::move(config), Signals{}, demo);
         })
        ->add_flag("--demo", demo, "Once ready, show one push travelling and what to try next");
    role("endpoint", "The HTTP API for application servers, on Kafka",
         [&](Config config, const Sources&) { return run_endpoint(std::move(config), Signals{}); });
    role("edge", "The WebSockets of clients, on Kafka",
         [&](Config config, const Sources&) { return run_edge(std::move(config), Signals{}); });

    // Commands below another one take the settings themselves: `beckon topics create --partitions
    // 4`.
    const auto tool = [&](CLI::App& parent, const char* name, const char* help, auto body) {
        auto* command = parent.add_subcommand(name, help);
        add_settings(*command, configured, settings);
        command->callback([&configured, &chosen, command, body] {
            chosen = [&configured, command, body] {
                return with_config(*command, configured, body);
            };
        });
        return command;
    };
    auto& topics =
        *app.add_subcommand("topics", "Create, describe or destroy the log topics on Kafka");
    topics.require_subcommand(1);
    bool dry_run = false;
    tool(topics, "create", "Create what is missing; a second time changes nothing",
         [&](Config config, const Sources&) { return topics_create(std::move(config), dry_run); })
        ->add_flag("--dry-run", dry_run, "Only show what would be done");
    tool(topics, "describe", "Show topics, settings and differences",
         [&](Config config, const Sources&) { return topics_describe(std::move(config)); });
    tool(topics, "destroy", "Delete all topics of a prefix that begins with 'test'",
         [&](Config config, const Sources&) { return topics_destroy(std::move(config), dry_run); })
        ->add_flag("--dry-run", dry_run, "Only show what would be done");

    auto& keys = *app.add_subcommand("keys", "The key ring");
    keys.require_subcommand(1);
    tool(keys, "generate", "Make a key ring file",
         [](const Config& config, const Sources&) { return keys_generate(config); });
    tool(keys, "list", "Show ids, ages and the fingerprint",
         [](const Config& config, const Sources&) { return keys_list(config); });
    tool(keys, "rotate", "Add a key that encrypts from now on",
         [](Config config, const Sources&) { return keys_rotate(std::move(config)); });
    tool(keys, "publish",
         "Write this ring's fingerprint to the log, so that roles with it may start",
         [](Config config, const Sources&) { return keys_publish(std::move(config)); });
    KeyLists lists;
    auto* import = tool(
        keys, "import", "Add the keys of an installation that moves here, before the ring's own",
        [&](const Config& config, const Sources&) { return keys_import(config, lists); });
    import->add_option("--crypto-keys", lists.crypto_keys, "Fernet keys, as [key1,key2]")
        ->envname("AUTOEND__CRYPTO_KEYS");
    import->add_option("--auth-keys", lists.auth_keys, "Of registration secrets, as [key1,key2]")
        ->envname("AUTOEND__AUTH_KEYS");
    std::string key_input;
    auto& convert = *keys.add_subcommand("convert", "PEM file to raw base64url point, and back");
    convert.add_option("KEY", key_input, "A PEM file, or a raw point in base64url")->required();
    convert.callback([&] { chosen = [&] { return keys_convert(key_input); }; });

    auto& subscriptions =
        *app.add_subcommand("subscriptions", "Clients and channels, as the log has them");
    subscriptions.require_subcommand(1);
    std::string clients_file;
    tool(subscriptions, "import", "Add the clients of an installation that moves here",
         [&](Config config, const Sources&) {
             return subscriptions_import(std::move(config), clients_file);
         })
        ->add_option("FILE", clients_file, "JSON lines, one client each; - for standard input")
        ->required();

    auto& config_command = *app.add_subcommand("config", "What is configured");
    config_command.require_subcommand(1);
    tool(config_command, "print", "Each value in force and where it came from",
         [](Config config, const Sources& sources) {
             std::cout << print_config(config, sources);
             return 0;
         });
    config_command.add_subcommand("reference", "All options as Markdown")->callback([&] {
        chosen = [] {
            std::cout << config_reference();
            return 0;
        };
    });

    add_push_commands(app, chosen);
    add_bench_command(app, chosen);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return chosen ? chosen() : 2;
}

}  // namespace

}  // namespace beckon::cli

int main(int argc, char** argv) {
    try {
        return beckon::cli::run(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "beckon: " << error.what() << "\n";
        return 1;
    }
}
