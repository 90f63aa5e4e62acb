#pragma once

#include "app/config/config.hpp"
#include "client/api_client.hpp"

#include <memory>
#include <string>

/// How a command comes to the API of the role `retry`.
namespace beckon::tools {

struct ApiAccess {
    std::string url{};    ///< empty: http://<retry.host>:<retry.port>
    std::string token{};  ///< empty: made with the key ring of the configuration, for `owner`
    std::string owner = "default";
    /// Whether the token that is made lets events reach the webhooks of all owners.
    bool publishes_to_all = false;
    /// The token that is made is an operator's, who sees the webhooks of all owners, and sees and
    /// settles their dead letters.
    bool all_owners = false;
    std::string ca_file{};
    bool insecure = false;
};

/// Throws StartupError: no token and no key ring that we may read, or no name of an owner.
client::ApiClient::Options api_options(const app::Config& config, const ApiAccess& access);
std::unique_ptr<client::ApiClient> open_api(const app::Config& config, const ApiAccess& access);

/// The token of an owner, made with the key ring of the configuration. Throws StartupError.
std::string token_of(const app::Config& config, const std::string& owner, bool publishes_to_all);

}  // namespace beckon::tools
