#pragma once

#include "console/cluster/ownership_view.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "log/blocking_executor.hpp"
#include "log/event_log.hpp"
#include "tools/running/tool_log.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::tools {

/// A command waits so long for the records of a topic.
inline constexpr std::chrono::milliseconds kLogReadTimeout{10'000};

/// `ownership` for commands, which have no loop: the console's view of it, which goes on while a
/// command waits here. Blocks; one thread.
class Ownership {
public:
    /// The log outlives it.
    Ownership(console::OwnershipView::Options options, log::EventLog& log)
        : view_(std::make_shared<console::OwnershipView>(options, log, executor_, clock_)) {}
    explicit Ownership(ToolLog& log)
        : Ownership({.partitions = log.control().partitions, .unreported = log.unreported()},
                    log.log()) {}

    /// Until all records are read. Errors: timed_out.
    core::Result<void> read(std::chrono::milliseconds timeout) {
        const auto until = clock_.mono() + timeout;
        if (executor_.wait_until([this] { return view_->complete(); }, until)) return {};
        return core::fail(core::Fault::timed_out, "the log topic ownership was not read in time");
    }
    /// Follows the log for so long.
    void follow(core::Duration time) {
        executor_.wait_until([] { return false; }, clock_.mono() + time);
    }
    console::OwnershipView& view() { return *view_; }
    std::shared_ptr<const console::OwnershipView> shared_view() const { return view_; }

private:
    core::SystemClock clock_;
    log::BlockingExecutor executor_;
    const std::shared_ptr<console::OwnershipView> view_;
};

/// The refused POSTs to an endpoint URL, for people or as JSON, from the reports of the endpoints:
/// those in the log, or that of the standalone which serves it. Throws StartupError: no log to
/// read, or no process answers.
std::vector<console::RefusedFacts> refused_posts(ToolLog& log, const app::Config& config,
                                                 const std::string& url);

/// The answer of an edge about a client: an object, discarded where there is none.
struct EdgePage {
    nlohmann::json page = nlohmann::json::value_t::discarded;
    std::string why_not = {};
};
/// A time of such an answer, in milliseconds since the Unix epoch.
inline core::Timestamp time_in(const nlohmann::json& page, const char* name) {
    return core::Timestamp{std::chrono::milliseconds{page.value(name, std::int64_t{0})}};
}

/// GET of a page of the edge that is the home of a client, with the proof of the installation's key
/// ring: of the process at the ops port of `config`, or of an edge that reports itself in
/// `ownership`. `timeout`: of each of them. Throws SetupError: there is no key ring. Blocks.
EdgePage ask_home(ToolLog& log, const app::Config& config, const std::string& target,
                  std::chrono::milliseconds timeout = std::chrono::milliseconds{2'000});

}  // namespace beckon::tools
