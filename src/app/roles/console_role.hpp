#pragma once

#include "app/config/config.hpp"
#include "console/console.hpp"
#include "core/key_ring.hpp"
#include "log/groups.hpp"
#include "ops/metrics.hpp"
#include "records/process.hpp"

#include <functional>
#include <memory>
#include <string>

/// The console, put together with the parts of other roles that only the composition root may
/// include.
namespace beckon::app {

/// Throws StartupError: the token file cannot be read, or holds none.
void check_console_token(const Config& config);

/// The console's dependencies in its process; all of them outlive it.
struct ConsoleParts {
    log::EventLog& log;
    const core::Clock& clock;
    ops::OpsServer& ops;
    ops::Metrics& metrics;
    std::shared_ptr<const core::KeyRing> keys;
    core::NodeId node;
    /// The origin of the API of the role retry, if this process has it; else the origins of the
    /// configuration are used.
    std::string retry_origin = {};
    /// The report of this process, where it is the installation's only one; else empty.
    std::function<cluster::ProcessRecord()> self = {};
    /// Why the log cannot be read now; empty text: it can. Empty: it always can.
    std::function<std::string()> log_problem = {};
};

/// A console and its parts.
class ConsoleRole {
public:
    /// `groups`: it shows their lag. `prefix`: of our own topics and groups there. Throws
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

/// The consumer groups of a standalone, whose log has no others. `log` outlives them.
std::unique_ptr<log::Groups> groups_of_standalone(const Config& config, log::EventLog& log,
                                                  core::Partition partitions);

}  // namespace beckon::app
