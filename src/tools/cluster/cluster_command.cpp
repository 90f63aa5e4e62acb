#include "app/command_line.hpp"
#include "app/process/output.hpp"
#include "tools/cluster/cluster_tool.hpp"
#include "tools/commands.hpp"
#include "tools/running/tool_log.hpp"

#include <condition_variable>
#include <iostream>
#include <mutex>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

constexpr std::chrono::milliseconds kTimeout{10'000};
constexpr std::chrono::milliseconds kWatchEvery{1'000};
/// Clears a terminal and begins at its top.
constexpr std::string_view kClear = "\x1b[H\x1b[2J";

struct ClusterOptions {
    std::string role = "edge";
    bool json = false;
    bool watch = false;
};

/// Waits between two polls, until a signal ends it.
class Pause {
public:
    void stop() {
        const std::scoped_lock lock{mutex_};
        stopped_ = true;
        wake_.notify_all();
    }
    /// False: stopped.
    bool wait() {
        std::unique_lock lock{mutex_};
        return !wake_.wait_for(lock, kWatchEvery, [this] { return stopped_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopped_ = false;
};

/// One poll; false if the log did not answer.
bool show_cluster(log::EventLog& log, const ClusterOptions& options, core::Partition partitions) {
    const auto view = read_cluster(log, options.role, partitions, kTimeout);
    if (!view) {
        app::print_error("beckon: " + view.error().message);
        return false;
    }
    if (options.json) {
        app::print_line(cluster_json(*view));
    } else {
        std::cout << (options.watch ? kClear : "") << cluster_table(*view) << std::flush;
    }
    return true;
}

int run_cluster(app::Config config, const ClusterOptions& options) {
    ToolLog log{config};
    const auto partitions = log.control().partitions;
    if (!options.watch) return show_cluster(log.log(), options, partitions) ? 0 : 1;
    Pause pause;
    const app::StopSignals signals{[&pause] { pause.stop(); }};
    do {
        show_cluster(log.log(), options, partitions);
    } while (pause.wait());
    return 0;
}

}  // namespace

void add_cluster_command(app::CommandLine& line) {
    static ClusterOptions options;
    auto& command = line.add_configured(
        line.top(), "cluster", "Show the nodes of a role, and the home of each partition",
        app::Reader::log, [](app::Config config, const app::Sources&) {
            return run_cluster(std::move(config), options);
        });
    command.add_option("--role", options.role, "edge, retry or reliability")
        ->check(CLI::IsMember({"edge", "retry", "reliability"}));
    command.add_flag("--json", options.json, "One JSON object in a line");
    command.add_flag("--watch", options.watch, "Show it again every second, until Ctrl-C");
}

}  // namespace beckon::tools
