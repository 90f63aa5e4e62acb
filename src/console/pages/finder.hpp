#pragma once

#include "console/cluster/ownership_view.hpp"
#include "console/pages/client_homes.hpp"
#include "console/pages/search_workers.hpp"
#include "console/web/answer.hpp"
#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"
#include "inspect/store/client_state.hpp"
#include "inspect/trace/named.hpp"
#include "inspect/trace/scan.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

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
    struct Context {
        std::shared_ptr<const core::KeyRing> keys;
        /// Says whether a client is connected, and removes it; null: it cannot be asked.
        const ClientHomes* homes = nullptr;
        /// The processes of the installation; null: not known yet. May be empty.
        std::function<std::shared_ptr<const OwnershipView>()> ownership = {};
    };
    Finder(QueryContext read, Context context) : read_(read), context_(std::move(context)) {}
    Finder(const Finder&) = delete;
    Finder& operator=(const Finder&) = delete;

    /// Parameter `q`. {"kind", "facts": [{"name", "value"}, …], "trace": as `beckon message --json`
    /// has it, or null and "problem": why the log was not read, "from", "until": between which
    /// times state() can answer; of a client "connection": {"connected", "since", "edge",
    /// "unanswered", "problem": why it is not known}; of an endpoint URL "refused": the POSTs to it
    /// that were refused of late}; 404 and {"error"} for any other text.
    Answer find(const Parameters& asked);
    /// Parameters `q` and `at`, Unix milliseconds. Answers with the output of `beckon replay
    /// state`.
    Answer state(const Parameters& asked);
    /// The removal of a client with its channels and messages, by its home
    /// (docs/personal-data.md). `wanted`: {"q": as find() has it}. The plan: {"does": [sentences],
    /// "possible"}.
    Plan plan_removal(const std::string& wanted);
    Answer remove(const std::string& sought, const std::string& by);

private:
    /// The client that a text names, or whose message it names. Errors: not_found: it names none;
    /// the log was not read.
    core::Result<core::Uaid> client_of(const std::string& text);
    core::Result<std::optional<inspect::Named>> named_at(const std::string& text,
                                                         const inspect::ScanLimits& limits);
    core::Result<std::optional<inspect::Named>> named(const std::string& text,
                                                      const inspect::ScanLimits& limits);
    Answer found(const std::string& text, const inspect::Named& named,
                 const inspect::ScanLimits& limits);

    const QueryContext read_;
    const Context context_;
};

/// The answer of a client's home about its connection (inspect/delivery/delivery_pages.hpp), or why
/// there is none, as find() has it. Pure.
nlohmann::ordered_json connection_json(const core::Result<std::string>& answer);

}  // namespace beckon::console
