#pragma once

#include "retry/home/first_attempts.hpp"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// Attempts as the API shows them (schemas/webhooks.openapi.yaml). Any thread.
namespace beckon::retry {

/// The number of accepted ones among the last attempts, and the newest attempt.
nlohmann::json summary_json(const std::string& webhook, const AttemptSummary& summary);

/// `page`: the event's source and id; `all`: every first attempt is among `seen`.
std::string first_attempts_page(nlohmann::json page, const std::vector<FirstAttempts::Seen>& seen,
                                bool all);

std::string attempts_page(const WebhookAttempts& attempts);

}  // namespace beckon::retry
