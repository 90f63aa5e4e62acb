#pragma once

#include "console/console_config.hpp"
#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "log/groups.hpp"
#include "log/topics_admin.hpp"
#include "ops/metrics.hpp"
#include "ops/ops_server.hpp"
#include "records/process.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

/// The role `console`: the operator's pages. It reads the log; only its acts change something.
namespace beckon::console {

/// Throws core::SetupError: the token file cannot be read, or holds none.
void check_token(const ConsoleConfig& config);

/// The consumer groups of a standalone, whose log has no others. `log` outlives them.
std::unique_ptr<log::Groups> groups_of_standalone(log::EventLog& log,
                                                  const log::LayoutOptions& layout);

class Console {
public:
    struct Context {
        log::EventLog& log;
        const core::Clock& clock;
        ops::OpsServer& ops;
        ops::Metrics& metrics;
        std::shared_ptr<const core::KeyRing> keys;
        core::NodeId node;
        log::LayoutOptions layout;  ///< that of the installation
        std::string prefix;         ///< of Beckon's own topics and groups among the groups
        bool self_signed =
            false;  ///< edges and endpoint may have a certificate of their own making
        /// The origin of the API of the role retry, if this process has it; else those of the
        /// configuration are used.
        std::string retry_origin = {};
        /// The report of this process, where it is the installation's only one; else empty.
        std::function<cluster::ProcessRecord()> self = {};
        /// Why the log cannot be read now; empty text: it can. Any thread; may be empty.
        std::function<std::string()> log_problem = {};
    };
    /// `groups`: whose lag it shows. Throws SetupError like check_token(), and std::runtime_error:
    /// the port is taken. The context outlives it.
    Console(const ConsoleConfig& config, Context context, std::unique_ptr<log::Groups> groups);
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    std::uint16_t port() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::console
