#pragma once

#include "cli/api/api_client.hpp"

#include <string>

#include <nlohmann/json_fwd.hpp>

/// Prints the API's answers for commands.
namespace beckon::cli {

/// The body; an empty object where it is no JSON.
nlohmann::ordered_json parsed(const ApiAnswer& answer);
/// A text of an object; empty where there is none of that name.
std::string text_of(const nlohmann::ordered_json& object, const char* name);

/// Prints the answer as JSON for people, or as refused() what is not good; the exit code.
int print_answer(const core::Result<ApiAnswer>& answer);
/// Prints what is not good, as a person needs it; the exit code.
int refused(const core::Result<ApiAnswer>& answer);

}  // namespace beckon::cli
