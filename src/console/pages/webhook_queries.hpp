#pragma once

#include "console/pages/retry_api.hpp"
#include "console/pages/search_workers.hpp"
#include "console/web/answer.hpp"
#include "core/clock.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace beckon::console {

/// The console's page of one webhook: its settings and its attempts, from the API of the role
/// retry; the deliveries that wait for it, from the log; a dead letter with its event; and the acts
/// test, disable, enable and rotate. Its answers have no URLs, header values or secrets, except the
/// secret that a rotation has just made. Any thread.
class WebhookQueries {
public:
    /// An order is executed once: so many of the last orders are remembered. Login refuses older
    /// ones, since a confirmation is valid for some minutes.
    static constexpr std::size_t kOrdersKept = 1'024;

    struct Options {
        std::vector<std::chrono::seconds> tiers;
        core::Partition partitions = 1;
    };
    /// Both outlive it.
    struct Context {
        log::EventLog& log;
        const core::Clock& clock;
    };
    WebhookQueries(Options options, Context context, RetryApi api);
    WebhookQueries(const WebhookQueries&) = delete;
    WebhookQueries& operator=(const WebhookQueries&) = delete;

    /// Parameters `id` and `owner`. {"webhook": as GET /webhooks/ID has it, with "origin" in place
    /// of "url"; "attempts", "hours": as GET /webhooks/ID/attempts has them, or null and
    /// "problem"}.
    Answer webhook(const Parameters& asked) const;
    /// Parameter `id`. {"partition", "complete", "tiers": [{"topic", "delay_seconds", "waiting",
    /// "first": [{"delivery", "offset", "attempts", "last", "due"}]}]}
    Answer waiting(const Parameters& asked) const;
    /// Parameters `delivery` and `owner`. As GET /dead/DELIVERY of the API.
    Answer letter(const Parameters& asked) const;

    /// Their plan: {"webhook", "origin", "does": [sentences]}; `wanted` is {"webhook", "owner"}.
    /// Their answer has what was done, in words; that of `rotate` also the new secret.
    std::map<std::string, Act> acts(SearchWorkers& workers);

    /// Ends the queries that read the log; no new one begins.
    void stop() { stopped_ = true; }

private:
    struct Deed;
    Answer plan(const Deed& deed, const Parameters& of) const;
    Answer run(const Deed& deed, const Parameters& of) const;
    Act act(const Deed& deed, SearchWorkers& workers);
    /// False: this order was executed before.
    bool is_first(const std::string& order);

    const Options options_;
    const Context context_;
    const RetryApi api_;
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::set<std::string> used_;             ///< orders; under mutex_, as the next
    std::deque<std::string> used_in_order_;  ///< the oldest first
};

}  // namespace beckon::console
