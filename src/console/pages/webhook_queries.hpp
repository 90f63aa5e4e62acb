#pragma once

#include "console/pages/retry_api.hpp"
#include "console/pages/search_workers.hpp"
#include "console/web/answer.hpp"
#include "core/clock.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "inspect/trace/scan.hpp"
#include "log/event_log.hpp"
#include "records/delivery.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace beckon::console {

/// A delivery that waits for a webhook, in a delay topic.
struct WaitingDelivery {
    std::string id;
    core::Offset offset = 0;
    std::uint32_t attempts = 0;            ///< made
    std::optional<retry::Outcome> last{};  ///< of the last attempt
    core::Timestamp due{};                 ///< append time plus the tier's delay
};

struct WaitingTier {
    int tier = 0;
    std::chrono::seconds delay{};
    std::size_t waiting = 0;
    std::vector<WaitingDelivery> first;  ///< the deliveries that are due first, at most kShown
};

struct WaitingDeliveries {
    static constexpr std::size_t kShown = 10;
    /// Of all webhooks of the partition; beyond that the count is incomplete.
    static constexpr std::size_t kRecordsMax = 200'000;

    core::Partition partition = 0;
    std::vector<WaitingTier> tiers;  ///< with deliveries that wait; the shortest delay first
    bool complete = true;            ///< all records that wait were read
};

/// Reads the records of the webhook's partition that are not finished by `retry.done`. That topic
/// is written a moment after an attempt, so a delivery that was just accepted may still be counted.
/// Errors: those of inspect::scan().
core::Result<WaitingDeliveries> waiting_deliveries(log::EventLog& log, const std::string& webhook,
                                                   const std::vector<std::chrono::seconds>& tiers,
                                                   core::Partition partitions,
                                                   const inspect::ScanLimits& limits);

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
    struct WebhookAct;
    Answer plan(const WebhookAct& kind, const Parameters& of) const;
    Answer run(const WebhookAct& kind, const Parameters& of) const;
    Act act(const WebhookAct& kind, SearchWorkers& workers);
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
