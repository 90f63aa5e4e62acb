#pragma once

#include "console/pages/retry_api.hpp"
#include "console/web/answer.hpp"

#include <string>

namespace beckon::console {

/// The console's page of dead letters: those of all owners, listed and redriven by the API of the
/// role `retry`. Letters of webhooks that are gone, and of bridged messages, are not shown. Any
/// thread, which it blocks.
class DeadLetters {
public:
    /// The API outlives it.
    explicit DeadLetters(const RetryApi& api) : api_(api) {}
    DeadLetters(const DeadLetters&) = delete;
    DeadLetters& operator=(const DeadLetters&) = delete;

    /// Parameters and answer as GET /dead of the API has them.
    Answer list(const Parameters& asked) const;
    /// Of a redrive; `wanted` as the body of POST /dead/redrive of the API. The plan: {"matched",
    /// "disabled", "would_settle", "sample": [letters]}. Letters that come later than the plan are
    /// not part of it.
    Plan plan(const std::string& wanted) const;
    Answer redrive(const std::string& order, const std::string& by) const;

private:
    const RetryApi& api_;
};

}  // namespace beckon::console
