#pragma once

#include "console/overview/facts.hpp"
#include "console/web/web_server.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "log/groups.hpp"
#include "ops/ops_server.hpp"
#include "records/process.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// The role `console`: the operator's pages. It reads the log; only its acts change something.
namespace beckon::console {

class OwnershipView;

/// A page that is made again and again; see Context::pages.
struct PageSource {
    std::string name;
    std::function<std::string()> make;  ///< JSON; empty text: nothing is known yet
    /// Adds what it knows to the first page; called after make(). May be empty.
    std::function<void(Installation&)> tell = {};
};

class Console {
public:
    struct Context {
        log::EventLog& log;
        log::Groups& groups;
        const core::Clock& clock;
        ops::OpsServer& ops;
        core::Partition partitions = 0;
        std::string prefix;  ///< of topics and groups, as the groups have it
        /// How long deliveries wait in each delay topic.
        std::vector<std::chrono::seconds> tiers = {};
        std::map<std::string, Ask> queries;  ///< as WebServer has them
        std::map<std::string, Act> acts;
        /// Opens pages that follow the log themselves, on the console's own thread, whose executor
        /// it is given; they are made and destroyed there.
        std::function<std::vector<PageSource>(core::Executor&)> pages;
        /// Called every second with the link addresses and the ops ports of the edges, on the
        /// console's own thread; may be empty.
        std::function<void(const std::vector<std::string>& link_addresses,
                           const std::vector<std::string>& ops_ports)>
            edges = {};
        /// Called with the processes of the installation once they are followed, and with null
        /// before they are destroyed. The console's own thread; may be empty.
        std::function<void(std::shared_ptr<const OwnershipView>)> ownership = {};
        /// Why the log cannot be read now; empty text: it can. Any thread; may be empty.
        std::function<std::string()> log_problem = {};
        core::Duration history_window{};  ///< nodes that are gone are shown for so long
        /// The report of this process, where it is the installation's only one; else empty.
        std::function<cluster::ProcessRecord()> self = {};
        /// Series of other parts of the console, in Prometheus' text format; may be empty.
        std::function<std::string()> metrics = {};
        /// Adds to the first page what no page source knows. The console's own thread.
        std::function<void(Installation&)> more = {};
    };

    /// Throws std::runtime_error: the port is taken. The context outlives it.
    Console(const WebConfig& config, Context context);
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    std::uint16_t port() const;
    /// For parts that publish pages by themselves; lives as long as this.
    LivePages& pages();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::console
