#pragma once

#include "retry/dispatch/first_attempts.hpp"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// What the API shows of attempts (schemas/webhooks.openapi.yaml). Any thread.
namespace beckon::retry {

/// How many of the last attempts were accepted, and the newest.
nlohmann::json summary_json(const std::string& webhook, const std::vector<Attempt>& attempts);

/// `page`: what names the event; `all`: every first attempt is among `seen`.
std::string first_attempts_page(nlohmann::json page, const std::vector<FirstAttempts::Seen>& seen,
                                bool all);

std::string attempts_page(const std::vector<Attempt>& attempts);

}  // namespace beckon::retry
