#include "app/client_options.hpp"
#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "console/lag/lag_table.hpp"
#include "console/lag/lag_text.hpp"
#include "core/ascii.hpp"
#include "core/clock.hpp"
#include "core/json_text.hpp"
#include "log/control.hpp"
#include "log/groups.hpp"
#include "log/kafka/kafka_log.hpp"
#include "tools/commands.hpp"
#include "tools/running/ops_client.hpp"
#include "tools/running/ownership.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <unistd.h>

namespace beckon::tools {

namespace {

using console::LagPage;
using console::Loss;
using console::Status;

struct LagOptions {
    bool watch = false;
    bool json = false;
    bool only_behind = false;
    bool partitions = false;  ///< a row for each; else for each group
    bool all = false;         ///< also groups that are not Beckon's
    std::string group;        ///< empty: those that `all` says
};

/// The exit code of `beckon lag` when a group is STALLED or STOPPED, or records were or soon will
/// be removed unread.
constexpr int kBehind = 3;

/// Between the two polls that a rate needs, and between two tables of --watch.
constexpr std::chrono::seconds kBetween{2};
/// For reports of processes, before each poll.
constexpr std::chrono::milliseconds kFollow{100};
constexpr const char* kClearScreen = "\033[H\033[2J";
constexpr std::chrono::milliseconds kLogTimeout{5'000};

using Sample = std::function<LagPage()>;

/// The brokers' groups, without anything of ours that runs; of Beckon's own groups with the
/// processes that read them.
struct Brokers {
    explicit Brokers(const app::Config& config)
        : groups(log::open_kafka_groups(config.kafka)), log(log::open_kafka_log(config.kafka)) {
        table.emplace();
        const auto control = log::read_control(*log, kLogTimeout);
        if (!control) return;  // there is no installation of Beckon
        ownership.emplace(console::OwnershipView::Options{.partitions = control->partitions}, *log);
        if (const auto read = ownership->read(kLogTimeout); !read) {
            app::print_error("beckon: which processes live is not known: " + read.error().message);
        }
        table.emplace(console::lag_context(config.kafka.prefix, control->tiers,
                                           [this] { return ownership->shared_view(); }));
    }

    LagPage poll() {
        if (ownership) ownership->follow(kFollow);
        return *console::poll(*table, *groups, core::SystemClock{}, {});
    }

    const std::unique_ptr<log::Groups> groups;
    const std::unique_ptr<log::EventLog> log;
    std::optional<Ownership> ownership;
    std::optional<console::LagTable> table;
};

Sample read_brokers(const app::Config& config) {
    return [brokers = std::make_shared<Brokers>(config)] { return brokers->poll(); };
}

Sample read_process(const app::Config& config) {
    return [ops = config.ops] {
        const auto reply = ask_ops_port(ops, "/lag/now");
        if (reply.status != net::kOk) {
            throw app::StartupError("the process at the ops port " + std::to_string(ops.port) +
                                    " reports no lag: it has no console, or has just started");
        }
        return app::must(console::parse_lag_page(core::json_text(reply.body)));
    };
}

int exit_code_of(const LagPage& page) {
    const bool bad = std::ranges::any_of(page.rows, [](const auto& row) {
        return row.status >= Status::stalled || row.loss != Loss::none;
    });
    if (bad) return kBehind;
    return page.rows.empty() && !page.problems.empty() ? app::kFailed : app::kDone;
}

void show(const LagPage& page, const LagOptions& options) {
    if (options.json) return app::print_line(console::to_json(page));
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    auto text = console::to_text(
        page,
        {.color = terminal, .only_behind = options.only_behind, .partitions = options.partitions});
    text.pop_back();  // print_line() adds it
    if (options.watch && terminal) text.insert(0, kClearScreen);
    app::print_line(text);
}

/// Throws StartupError: the group that was asked for is not there, which must not pass for "OK".
void check_group(const LagPage& page, const std::string& group) {
    std::set<std::string> names;
    for (const auto& row : page.rows) names.insert(row.group);
    if (group.empty() || names.contains(group)) return;
    if (names.empty()) throw app::StartupError("no group is known yet");
    throw app::StartupError("there is no group '" + group + "'; there are " +
                            core::joined(names, ", "));
}

LagPage chosen(LagPage page, const LagOptions& options) {
    check_group(page, options.group);
    std::erase_if(page.rows, [&](const auto& row) {
        return options.group.empty() ? !row.own && !options.all : row.group != options.group;
    });
    return page;
}

/// Polls the brokers twice, since one poll gives no rates. Throws StartupError: no process and no
/// broker answers.
int show_lag(const app::Config& config, const LagOptions& options) {
    const bool brokers = config.on_kafka();
    const auto poll = brokers ? read_brokers(config) : read_process(config);
    auto page = chosen(poll(), options);
    if (brokers) {
        std::this_thread::sleep_for(kBetween);
        page = chosen(poll(), options);
    }
    show(page, options);
    while (options.watch) {
        std::this_thread::sleep_for(kBetween);
        show(chosen(poll(), options), options);
    }
    return exit_code_of(page);
}

}  // namespace

void add_lag_command(app::CommandLine& line) {
    static LagOptions options;
    auto& command = line.add(
        line.top(), "lag",
        "Show how far Beckon's consumer groups are behind: from the brokers where --kafka-servers "
        "is given, else from the running console or standalone at --ops-port. Exit code 3: a "
        "group is STALLED or STOPPED, or loses records",
        app::Reader::lag, [](const auto& config) { return show_lag(config, options); });
    command.add_flag("--watch", options.watch, "Show it again and again, until Ctrl-C");
    command.add_flag("--json", options.json, "One line of JSON for each poll");
    command.add_flag("--by-partition", options.partitions,
                     "A row for each partition of a group, with its owner");
    command.add_flag("--behind", options.only_behind, "Leave out rows that are OK");
    command.add_flag("--all", options.all, "Also consumer groups that are not Beckon's");
    app::add_text(command, "--group", options.group, "Only this group, whoever it belongs to");
}

}  // namespace beckon::tools
