#pragma once

#include "cli/config/config.hpp"
#include "cli/webhooks/api_client.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What `beckon webhooks` and `beckon events` do: each asks the API and prints what it says. Exit
/// codes: 0, and 1 with one line on standard error.
namespace beckon::cli {

/// How the API is reached.
struct ApiAccess {
    std::string url{};    ///< empty: http://<retry.host>:<retry.port>
    std::string token{};  ///< empty: made with the key ring of the configuration, for `owner`
    std::string owner = "default";
    std::string ca_file{};
    bool insecure = false;
};

/// Throws StartupError: no token and no key ring that we may read, or no name of an owner.
ApiClient::Options api_options(const Config& config, const ApiAccess& access);
std::unique_ptr<ApiClient> open_api(const Config& config, const ApiAccess& access);

struct CreateWebhook {
    std::string url;
    std::vector<std::string> types{};
    std::string filter{};                    ///< JSON, or @file
    std::vector<std::string> attachments{};  ///< NAME=EXPRESSION
    std::string secret{};
    std::string description{};
    bool ordered = false;
    std::optional<int> timeout_s{};
};
/// The body of the request. Throws StartupError: the filter is no JSON, an attachment has no =.
std::string body_of(const CreateWebhook& wanted);

int create_webhook(ApiClient& api, const CreateWebhook& wanted);
int list_webhooks(ApiClient& api);
int show_webhook(ApiClient& api, const std::string& id);
/// `method` and what follows the id in the path: enable, disable, secret, test, attempts.
int act_on_webhook(ApiClient& api, const std::string& id, const std::string& action);
int change_webhook(ApiClient& api, const std::string& id, const std::string& json);
int delete_webhook(ApiClient& api, const std::string& id);
int show_attempts(ApiClient& api, const std::string& id);

struct SendEvent {
    std::string type;
    std::string data;  ///< JSON; what is none is sent as text; empty: none
    std::string source = "/cli";
    std::string id;  ///< empty: a random one
    std::string subject;
    std::string for_owner;
    std::chrono::seconds wait{};  ///< for the first attempts; zero: not at all
};
int send_event(ApiClient& api, const SendEvent& event);

/// Prints the token of an owner.
int print_token(const Config& config, const std::string& owner, bool publishes_to_all);

/// Prints what is not good, as a person needs it; the exit code.
int refused(const core::Result<ApiAnswer>& answer);

}  // namespace beckon::cli
