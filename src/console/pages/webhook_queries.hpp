#pragma once

#include "console/pages/retry_api.hpp"
#include "console/pages/search_workers.hpp"
#include "console/web/answer.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace beckon::console {

/// The console's page of one webhook: its settings and its attempts, from the API of the role
/// retry; the deliveries that wait for it, from the log; a dead letter with its event; and the acts
/// test, disable, enable and rotate. Its answers have no URLs, header values or secrets, except the
/// secret that a rotation has just made. Any thread.
class WebhookQueries {
public:
    /// Deliveries of a tier that are shown, those that are due first.
    static constexpr std::size_t kShown = 10;
    /// Of all webhooks of a partition; beyond that the count of those that wait is incomplete.
    static constexpr std::size_t kRecordsMax = 200'000;

    WebhookQueries(QueryContext read, RetryApi api) : read_(read), api_(std::move(api)) {}
    WebhookQueries(const WebhookQueries&) = delete;
    WebhookQueries& operator=(const WebhookQueries&) = delete;

    /// Parameters `id` and `owner`. {"webhook": as GET /webhooks/ID has it, with "origin" in place
    /// of "url"; "attempts", "hours": as GET /webhooks/ID/attempts has them, or null and
    /// "problem"}.
    Answer webhook(const Parameters& asked) const;
    /// Parameter `id`: the deliveries that wait in the webhook's partition and are not finished by
    /// `retry.done`, which is written a moment after an attempt. {"partition", "complete": all
    /// records that wait were read, "tiers": [{"topic", "delay_seconds", "waiting", "first":
    /// [{"delivery", "offset", "attempts", "last", "due"}]}]}
    Answer waiting(const Parameters& asked) const;
    /// Parameters `delivery` and `owner`. As GET /dead/DELIVERY of the API.
    Answer letter(const Parameters& asked) const;

    /// Their plan: {"webhook", "origin", "does": [sentences]}; `wanted` is {"webhook", "owner"}.
    /// Their answer has what was done, in words; that of `rotate` also the new secret.
    std::map<std::string, Act> acts(SearchWorkers& workers);

private:
    struct WebhookAct;
    Plan plan(const WebhookAct& kind, const std::string& wanted) const;
    Answer run(const WebhookAct& kind, const std::string& order, const std::string& by) const;

    const QueryContext read_;
    const RetryApi api_;
};

}  // namespace beckon::console
