#pragma once

#include "app/config/config_values.hpp"

#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace beckon::app {

/// The command line: each folder of src/tools adds its commands to one of these, and main runs it.
/// The variables that a command binds to its CLI::App must live as long as the process, since CLI11
/// keeps references to them.
class CommandLine {
public:
    using Run = std::function<int()>;
    using RunConfigured = std::function<int(const Config&)>;

    CommandLine();
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    CLI::App& top();
    /// A name that only has commands below it, such as `keys`.
    CLI::App& add_group(const std::string& name, const std::string& help);
    /// A command that reads no configuration.
    CLI::App& add(CLI::App& parent, const std::string& name, const std::string& help, Run run);
    /// A command that takes --config and every setting as a flag. Its help shows the settings that
    /// have an effect for `reader`; the others are accepted, so that all commands can share one
    /// file and one list of flags.
    CLI::App& add(CLI::App& parent, const std::string& name, const std::string& help, Reader reader,
                  RunConfigured run);

    /// Parses, runs the command that was named, and returns its exit code; 2 for a wrong command
    /// line or configuration, with every fault on a line of its own.
    int run(int argc, const char* const* argv);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::app
