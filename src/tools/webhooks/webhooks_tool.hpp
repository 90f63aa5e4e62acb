#pragma once

#include "tools/api/api_command.hpp"

#include <optional>
#include <string>
#include <vector>

/// The commands `beckon webhooks` and `beckon events`: each asks the API and prints its answer.
/// Exit codes: 0, 1 with one line on standard error, and 3 where there is nothing to list.
namespace beckon::tools {

struct CreateWebhook {
    std::string url;
    std::vector<std::string> types{};
    std::string filter{};                    ///< JSON, or @file
    std::vector<std::string> attachments{};  ///< NAME=EXPRESSION
    std::vector<std::string> headers{};      ///< Name: value, or @file with one in each line
    std::string secret{};
    std::string description{};
    std::string mode{};  ///< empty: structured
    bool ordered = false;
    std::optional<int> timeout_s{};
};
/// The body of the request. Throws StartupError: the filter is no JSON or nested too deeply, an
/// attachment has no =, a header no colon.
std::string body_of(const CreateWebhook& wanted);

struct SendEvent {
    std::string type;
    std::string data;  ///< JSON; other data are sent as text; empty: none
    std::string source = "/cli";
    std::string id;  ///< empty: a random one
    std::string subject;
    std::string partition_key;
    std::string for_owner;
    std::chrono::seconds wait{};  ///< for the first attempts; zero: not at all
};
/// How `events send` comes to the API: the token that is made lets the event reach other owners'
/// webhooks only if the command says so.
ApiAccess sender_of(ApiAccess access, const SendEvent& event);

}  // namespace beckon::tools
