#pragma once

#include "console/cluster/ownership_view.hpp"
#include "console/pages/client_presence.hpp"
#include "console/web/answer.hpp"
#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"
#include "inspect/store/client_state.hpp"
#include "inspect/trace/named.hpp"
#include "inspect/trace/scan.hpp"
#include "log/event_log.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace beckon::console {

/// The console's page Find. It takes a message id or URL, the name that log lines and pages have
/// for a message, an endpoint URL, a UAID, a reliability id, or a place in the log
/// (`notifications/3@17`: the message of that record; `notifications/3@17/client`: its client; so a
/// link contains no id that lets its reader act). It shows what that is, its life across the log
/// topics, and the state of its client at a moment. It reads the log on the caller's thread
/// (SearchWorkers has some), with the code of `beckon message` and `beckon replay state`. Any
/// thread.
class Finder {
public:
    /// For so long a search reads the log at most.
    static constexpr std::chrono::seconds kSearchTime{20};

    struct Options {
        core::Partition partitions = 1;
        std::chrono::seconds history_window{};
    };
    struct Context {
        std::shared_ptr<const core::KeyRing> keys;
        log::EventLog& log;
        const core::Clock& clock;
        /// Whether a client is connected; may be empty.
        std::function<Presence(const core::Uaid&)> presence = {};
        /// The processes of the installation; null: not known yet. May be empty.
        std::function<std::shared_ptr<const OwnershipView>()> ownership = {};
    };
    Finder(Options options, Context context);
    Finder(const Finder&) = delete;
    Finder& operator=(const Finder&) = delete;

    /// Parameter `q`. {"kind", "facts": [{"name", "value"}, …], "trace": as `beckon message --json`
    /// has it, or null and "problem": why the log was not read, "from", "until": between which
    /// times state() can answer; of a client "connection": {"connected", "since", "edge",
    /// "unanswered", "problem": why it is not known}; of an endpoint URL "refused": the POSTs to it
    /// that were refused of late}; 404 and {"error"} for any other text.
    console::Answer find(const console::Parameters& asked);
    /// Parameters `q` and `at`, Unix milliseconds. Answers with the output of `beckon replay
    /// state`.
    console::Answer state(const console::Parameters& asked);
    /// The client that a text names, or whose message it names. nullopt: it names none. Errors: the
    /// log was not read.
    core::Result<std::optional<core::Uaid>> client_of(const std::string& text);
    /// Its state now. Errors: the log was not read.
    core::Result<inspect::ClientState> state_now(const core::Uaid& client) const;
    /// Ends all searches; no new one begins.
    void stop() { stopped_ = true; }

private:
    core::Result<std::optional<inspect::Named>> named_at(const std::string& text,
                                                         const inspect::ScanLimits& limits);
    core::Result<std::optional<inspect::Named>> named(const std::string& text,
                                                      const inspect::ScanLimits& limits);
    console::Answer found(const std::string& text, const inspect::Named& named,
                          const inspect::ScanLimits& limits);
    inspect::ScanLimits limits() const;

    const Options options_;
    const Context context_;
    std::atomic<bool> stopped_{false};
};

}  // namespace beckon::console
