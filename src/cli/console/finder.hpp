#pragma once

#include "cli/lookup/named.hpp"
#include "cli/trace/scan.hpp"
#include "console/web/web_server.hpp"
#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace beckon::cli {

/// The page Find: what a message id or URL, an endpoint URL, a UAID or a reliability id is, its
/// life across the log topics, and the state of its client at a moment. It reads the log on the
/// caller's thread (SearchWorkers has some), with the code of `beckon trace` and `beckon replay
/// state`. Any thread.
class Finder {
public:
    /// Nobody reads longer for one answer.
    static constexpr std::chrono::seconds kSearchTime{20};

    struct Options {
        core::Partition partitions = 1;
        std::chrono::seconds history_window{};
    };
    struct Context {
        std::shared_ptr<const core::KeyRing> keys;
        log::EventLog& log;
        const core::Clock& clock;
    };
    Finder(Options options, Context context);
    Finder(const Finder&) = delete;
    Finder& operator=(const Finder&) = delete;

    /// Parameter `q`. {"kind", "facts": [{"name", "value"}, …], "trace": as `beckon trace --json`
    /// has it, or null and "problem": why the log was not read, "from", "until": between which
    /// times state() can answer}; 404 and {"error"} for what is none of these.
    console::Answer find(const console::Parameters& asked);
    /// Parameters `q` and `at`, Unix milliseconds. What `beckon replay state` prints.
    console::Answer state(const console::Parameters& asked);
    /// Searches under way end, and none begins.
    void stop() { stopped_ = true; }

private:
    core::Result<std::optional<Named>> named(const std::string& text, const ScanLimits& limits);
    console::Answer found(const Named& named, const ScanLimits& limits);
    ScanLimits limits() const;

    const Options options_;
    const Context context_;
    std::atomic<bool> stopped_{false};
};

}  // namespace beckon::cli
