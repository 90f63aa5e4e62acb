#include "app/command_line.hpp"

#include "app/process/version.hpp"
#include "core/authority.hpp"
#include "core/enum_names.hpp"
#include "core/json_parts.hpp"
#include "core/logger.hpp"

#include <algorithm>
#include <iostream>
#include <optional>

#include <CLI/CLI.hpp>
#include <unistd.h>

extern char** environ;

namespace beckon::app {

namespace {

constexpr const char* kDescription =
    "Beckon: an event-sourced Web Push service.\n"
    "First try:  beckon standalone --demo\n"
    "On Kafka:   beckon topics create, then beckon endpoint and beckon edge";
constexpr const char* kSharedFooter =
    "Every setting of docs/configuration.md is accepted as a flag; settings that have no effect "
    "for this command are not listed.";
constexpr int kWrongCommandLine = 2;
/// Longer descriptions of a value's form go to the error and the reference, not to the help.
constexpr std::size_t kTypeNameMax = 40;

/// The configuration that the command line gives, before it is applied.
struct Configured {
    std::string file;
    std::vector<RawValue> flags;
    std::vector<std::string> pass_through;
};

std::string group_of(const Setting& setting) {
    const auto dot = setting.name.find('.');
    return "Settings: " + (dot == std::string::npos ? "process" : setting.name.substr(0, dot));
}

/// Adds `setting` as a flag; a flag of a bool needs no value.
void add_setting(CLI::App& command, Configured& configured, const Setting& setting, bool shown) {
    auto help = setting.help;
    if (const auto value = setting.get(); !value.empty()) help += " [" + value + "]";
    auto* option =
        command
            .add_option_function<std::string>(
                flag_of(setting),
                [&configured, name = setting.name, flag = flag_of(setting),
                 kind = setting.kind](const std::string& text) {
                    const bool bare = kind == Setting::Kind::boolean && text.empty();
                    configured.flags.push_back({name, bare ? "true" : text, flag});
                },
                help)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
            ->type_name(setting.allowed.size() <= kTypeNameMax ? setting.allowed : "VALUE")
            ->group(shown ? group_of(setting) : "");
    if (setting.kind == Setting::Kind::boolean) option->expected(0, 1);
}

/// Gives `command` every setting as a flag, and --config.
void add_settings(CLI::App& command, Configured& configured, Reader reader) {
    Config defaults = defaults_of(reader);
    command.add_option("--config", configured.file, "TOML file (BECKON_CONFIG)")
        ->group("Settings: process");
    for (const auto& setting : settings_of(defaults)) {
        add_setting(command, configured, setting,
                    !setting.for_tests && has_effect(setting.name, reader));
    }
    command
        .add_option("--kafka-librdkafka", configured.pass_through,
                    "An option for librdkafka, name=value; may be repeated")
        ->group(has_effect("kafka.librdkafka", reader) ? "Settings: kafka" : "");
    command.allow_extras();
    command.footer(kSharedFooter);
}

/// Commands that ask a running process at its ops port.
bool asks_ops_port(Reader reader) {
    return reader == Reader::running || reader == Reader::log || reader == Reader::lag ||
           reader == Reader::broadcasts || reader == Reader::any;
}

/// HOST, HOST:PORT or http://HOST:PORT, as ops.host and ops.port.
void take_server(Configured& configured, std::string text) {
    constexpr std::string_view kScheme = "http://";
    if (text.starts_with(kScheme)) text.erase(0, kScheme.size());
    if (text.ends_with('/')) text.pop_back();
    const auto split = core::split_authority(text);
    if (!split) throw CLI::ValidationError("--server", "'" + text + "' is no HOST:PORT");
    if (split->port) {
        configured.flags.push_back({"ops.port", std::string{*split->port}, "--server"});
    }
    configured.flags.push_back(
        {"ops.host", std::string{core::without_brackets(split->host)}, "--server"});
}

void add_server(CLI::App& command, Configured& configured) {
    command.add_option_function<std::string>(
        "--server", [&configured](const std::string& text) { take_server(configured, text); },
        "HOST:PORT of the running process's ops port; the same as --ops-host and --ops-port");
}

/// "keys rotate": the names from below `beckon` on.
std::string path_of(const CLI::App& command) {
    const auto* parent = command.get_parent();
    if (!parent) return {};
    const auto above = path_of(*parent);
    return above.empty() ? command.get_name() : above + " " + command.get_name();
}

void collect_pass_through(const std::vector<std::string>& options, std::vector<RawValue>& values,
                          std::vector<ConfigFault>& faults) {
    for (const auto& option : options) {
        const auto equals = option.find('=');
        if (equals == std::string::npos || equals == 0) {
            faults.push_back({"--kafka-librdkafka", "'" + option + "' is not name=value"});
            continue;
        }
        values.push_back({"kafka.librdkafka." + option.substr(0, equals), option.substr(equals + 1),
                          "--kafka-librdkafka"});
    }
}

/// Values of the file, the environment and the flags, the later ones to win.
std::vector<ConfigFault> collect(const Configured& configured, const std::vector<Setting>& settings,
                                 std::vector<RawValue>& values) {
    std::vector<ConfigFault> faults;
    auto environment = read_environment(environ, settings);
    for (const auto& ignored : environment.ignored) {
        std::cerr << "beckon: warning: " << ignored.where << ": " << ignored.what << "\n";
    }
    const auto file = configured.file.empty() ? environment.config_file : configured.file;
    if (!file.empty()) {
        auto read = read_config_file(file);
        if (read) {
            values = std::move(*read);
        } else {
            faults.push_back({"--config", read.error().message});
        }
    }
    values.insert(values.end(), environment.values.begin(), environment.values.end());
    values.insert(values.end(), configured.flags.begin(), configured.flags.end());
    collect_pass_through(configured.pass_through, values, faults);
    return faults;
}

/// Reports arguments that CLI11 could not assign: flags with a wrong name, or words where none is
/// expected.
void report_extras(const CLI::App& command, std::vector<ConfigFault>& faults) {
    std::vector<std::string> known;
    for (const auto* option : command.get_options()) known.push_back(option->get_name());
    for (const auto& extra : command.remaining()) {
        if (!extra.starts_with("-")) continue;
        const auto name = extra.substr(0, extra.find('='));
        faults.push_back({name, "unknown option" + did_you_mean(name, known)});
    }
    for (const auto& extra : command.remaining()) {
        if (extra.starts_with("-") || !faults.empty()) continue;
        faults.push_back({extra, "is neither an option nor a command"});
    }
}

/// A flag given to a command that does not use it. Files and variables are shared between commands
/// on purpose: of those a role names, in one line, the settings that no process or tool with its
/// log uses.
void warn_without_effect(const Sources& sources, Reader reader, const std::string& path) {
    std::string others;
    for (const auto& [name, where] : sources) {
        if (has_effect(name, reader)) continue;
        if (!where.starts_with("--") && name != "kafka.servers") {
            if (!is_role(reader) || has_effect_beside(name, reader)) continue;
            others += (others.empty() ? "" : ", ") + name + " (" + where + ")";
            continue;
        }
        std::cerr << "beckon: warning: " << where << ": " << name << " has no effect for `beckon "
                  << path << "`" << why_without_effect(name, reader) << "\n";
    }
    if (others.empty()) return;
    std::cerr << "beckon: warning: no effect for `beckon " << path << "`: " << others << "\n";
}

void start_logging(const Config& config) {
    const auto level = core::value_named<core::LogLevel>(config.log_level);
    const bool text = config.log_format == "text" ||
                      (config.log_format == "auto" && ::isatty(STDERR_FILENO) == 1);
    core::configure_logging(level.value(), text ? core::LogFormat::text : core::LogFormat::json);
}

int report(const std::vector<ConfigFault>& faults, const std::string& path) {
    for (const auto& fault : faults) {
        std::cerr << "beckon: " << fault.where << ": " << fault.what << "\n";
    }
    std::cerr << "beckon: " << faults.size() << (faults.size() == 1 ? " fault" : " faults")
              << " in the configuration; `beckon " << path << " --help` lists the options\n";
    return kWrongCommandLine;
}

int with_config(const CLI::App& command, const Configured& configured, Reader reader,
                const CommandLine::RunConfigured& run) {
    Config config = defaults_of(reader);
    std::vector<RawValue> values;
    auto& sources = config.sources;
    auto faults = collect(configured, settings_of(config), values);
    report_extras(command, faults);
    const auto more = apply(values, config, sources, reader);
    faults.insert(faults.end(), more.begin(), more.end());
    if (!faults.empty()) return report(faults, path_of(command));
    warn_without_effect(sources, reader, path_of(command));
    start_logging(config);
    return run(config);
}

/// A word in the place of a command that is none, with the command that may have been meant. CLI11
/// would print the whole help for `beckon stanalone --help`, with exit code 0.
std::optional<std::string> unknown_command(const CLI::App& app,
                                           const std::vector<std::string>& words) {
    const auto* at = &app;
    for (const auto& word : words) {
        // A command that runs by itself too: the word may be a flag's value.
        if (at->get_require_subcommand_min() == 0) return std::nullopt;
        std::vector<std::string> names;
        for (const auto* command : at->get_subcommands({})) {
            names.push_back(command->get_name());
            const auto& aliases = command->get_aliases();
            names.insert(names.end(), aliases.begin(), aliases.end());
        }
        if (names.empty()) return std::nullopt;
        if (word.starts_with("-")) continue;
        const auto found = std::ranges::find(names, word);
        if (found == names.end()) {
            const auto path = path_of(*at);
            return "unknown command '" + (path.empty() ? "" : path + " ") + word + "'" +
                   did_you_mean(word, names) + "\n`beckon " + path + (path.empty() ? "" : " ") +
                   "--help` lists the commands";
        }
        at = at->get_subcommand(word);
    }
    return std::nullopt;
}

/// The command that the words chose, as far as they were understood.
const CLI::App& chosen_command(const CLI::App& app) {
    const auto* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    return *at;
}

/// CLI11's message, but for a missing command, and for an option without its value, which it words
/// as "--edge-port: 1 required 0 to 65535 missing".
std::string parse_message(const CLI::ParseError& error) {
    constexpr std::string_view kRequired = ": 1 required ";
    constexpr std::string_view kMissing = " missing";
    std::string what = error.what();
    if (what.starts_with("A subcommand")) return "the name of a command is missing";
    const auto at = what.find(kRequired);
    if (at == std::string::npos || !what.ends_with(kMissing)) return what;
    const auto form = at + kRequired.size();
    return what.substr(0, at) +
           " needs a value: " + what.substr(form, what.size() - kMissing.size() - form);
}

int report(const CLI::ParseError& error, const CLI::App& app) {
    const auto path = path_of(chosen_command(app));
    std::cerr << "beckon: " << parse_message(error) << "\n`beckon " << path
              << (path.empty() ? "" : " ") << "--help` lists the options\n";
    return kWrongCommandLine;
}

}  // namespace

struct CommandLine::Impl {
    CLI::App app{kDescription, "beckon"};
    Configured configured;
    Run chosen;
};

CommandLine::CommandLine() : impl_(std::make_unique<Impl>()) {
    impl_->app.set_version_flag("--version", "beckon " + version_text());
    impl_->app.require_subcommand(1);
}

CommandLine::~CommandLine() = default;

CLI::App& CommandLine::top() { return impl_->app; }

CLI::App& CommandLine::add_group(const std::string& name, const std::string& help) {
    auto& group = *impl_->app.add_subcommand(name, help);
    group.require_subcommand(1);
    return group;
}

CLI::App& CommandLine::add(CLI::App& parent, const std::string& name, const std::string& help,
                           Run run) {
    auto& command = *parent.add_subcommand(name, help);
    command.callback([this, run = std::move(run)] { impl_->chosen = run; });
    return command;
}

CLI::App& CommandLine::add(CLI::App& parent, const std::string& name, const std::string& help,
                           Reader reader, RunConfigured run) {
    auto& command = *parent.add_subcommand(name, help);
    add_settings(command, impl_->configured, reader);
    if (asks_ops_port(reader)) add_server(command, impl_->configured);
    command.callback([this, &command, reader, run = std::move(run)] {
        if (!command.get_subcommands().empty()) return;  // `beckon reliability counts`
        impl_->chosen = [this, &command, reader, run] {
            return with_config(command, impl_->configured, reader, run);
        };
    });
    return command;
}

int CommandLine::run(int argc, const char* const* argv) {
    for (int i = 1; i < argc; ++i) {
        if (core::is_utf8(argv[i])) continue;
        std::cerr << "beckon: argument " << i << " is not UTF-8\n";
        return kWrongCommandLine;
    }
    if (const auto unknown = unknown_command(impl_->app, {argv + 1, argv + argc})) {
        std::cerr << "beckon: " << *unknown << "\n";
        return kWrongCommandLine;
    }
    try {
        impl_->app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return error.get_exit_code() == 0 ? impl_->app.exit(error) : report(error, impl_->app);
    }
    return impl_->chosen ? impl_->chosen() : kWrongCommandLine;
}

}  // namespace beckon::app
