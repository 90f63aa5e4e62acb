#pragma once

#include "client/api_client.hpp"

#include <nlohmann/json_fwd.hpp>

/// Prints the API's answers for commands.
namespace beckon::tools {

/// The body; an empty object where it is no JSON.
nlohmann::ordered_json parsed(const client::ApiAnswer& answer);

/// Prints a good answer as JSON for people, any other like refused(); returns the exit code.
int print_answer(const core::Result<client::ApiAnswer>& answer);
/// Prints an answer that is not good, for people; returns the exit code.
int refused(const core::Result<client::ApiAnswer>& answer);

}  // namespace beckon::tools
