#pragma once

#include "cli/config/config.hpp"
#include "console/console.hpp"
#include "core/key_ring.hpp"
#include "log/groups.hpp"

#include <memory>
#include <string>

/// The console, put together with what only the composition may know of the other roles.
namespace beckon::cli {

/// Throws StartupError: the token file cannot be read, or holds none.
void check_console_token(const Config& config);

/// What it borrows from its process; all of it outlives it.
struct ConsoleParts {
    log::EventLog& log;
    const core::Clock& clock;
    ops::OpsServer& ops;
    std::shared_ptr<const core::KeyRing> keys;
    core::NodeId node;
    /// Of the API of the role retry, if this process has it; else those that the configuration
    /// names are asked.
    std::string retry_origin = {};
};

/// A console and what it stands on.
class ConsoleRole {
public:
    /// `groups`: whose lag it shows. `prefix`: of our own topics and groups there. Throws
    /// StartupError: the token file cannot be read, or holds none; and as Console does.
    ConsoleRole(const Config& config, const ConsoleParts& parts,
                std::unique_ptr<log::Groups> groups, std::string prefix);
    ~ConsoleRole();
    ConsoleRole(const ConsoleRole&) = delete;
    ConsoleRole& operator=(const ConsoleRole&) = delete;

    std::uint16_t port() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Those of a standalone, whose log has no others. `log` outlives them.
std::unique_ptr<log::Groups> groups_of_standalone(const Config& config, log::EventLog& log,
                                                  core::Partition partitions);

}  // namespace beckon::cli
