#pragma once

#include "console/pages/retry_api.hpp"
#include "console/pages/search_workers.hpp"
#include "console/web/answer.hpp"

#include <functional>
#include <string>

namespace beckon::console {

/// The console's page of dead letters: those of all owners, listed and redriven by the API of the
/// role `retry`. Letters of webhooks that are gone, and of bridged messages, are not shown. Any
/// thread.
class DeadLetters {
public:
    /// `calls`: for the calls of the API, which block. Both outlive it.
    DeadLetters(const RetryApi& api, SearchWorkers& calls) : api_(api), calls_(calls) {}
    DeadLetters(const DeadLetters&) = delete;
    DeadLetters& operator=(const DeadLetters&) = delete;

    /// Parameters and answer as GET /dead of the API has them.
    console::Ask list();
    /// Redrives; `wanted` as the body of POST /dead/redrive of the API. The plan: {"matched",
    /// "disabled", "would_settle", "sample": [letters]}. Letters that come later than the plan are
    /// not part of it.
    console::Act redrive();

private:
    using Planned = std::function<void(console::Plan)>;
    console::Answer listed(const console::Parameters& asked) const;
    console::Plan plan(const std::string& wanted) const;
    console::Answer run(const std::string& order, const std::string& by) const;

    const RetryApi& api_;
    SearchWorkers& calls_;
};

}  // namespace beckon::console
