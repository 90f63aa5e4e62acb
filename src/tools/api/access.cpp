#include "tools/api/access.hpp"

#include "app/process/process.hpp"
#include "core/authority.hpp"
#include "retry/api/owner_token.hpp"

#include <utility>

namespace beckon::tools {

namespace {

core::KeyRing key_ring_of(const app::Config& config) {
    auto keys = config.load_key_ring();
    if (keys) return std::move(*keys);
    throw app::StartupError(
        "there is no --token, and no key ring to make one with: " + keys.error().message +
        " (--data or --key-ring names the one of the installation)");
}

}  // namespace

client::ApiClient::Options api_options(const app::Config& config, const ApiAccess& access) {
    client::ApiClient::Options options{
        .origin = access.url, .token = access.token, .ca_file = access.ca_file};
    options.insecure = access.insecure;
    if (options.origin.empty()) {
        options.origin = "http://" + core::local_authority(config.retry.host, config.retry.port);
    }
    if (options.origin.ends_with('/')) options.origin.pop_back();
    if (!options.token.empty()) return options;
    // For one call to a process that may have started before the ring was rotated.
    const auto caller =
        access.all_owners
            ? retry::operator_caller()
            : retry::Caller{.owner = access.owner, .publishes_to_all = access.publishes_to_all};
    auto token = retry::make_token(key_ring_of(config).keys().front(), caller);
    if (!token) throw app::StartupError(token.error().message);
    options.token = std::move(*token);
    return options;
}

std::unique_ptr<client::ApiClient> open_api(const app::Config& config, const ApiAccess& access) {
    return std::make_unique<client::ApiClient>(api_options(config, access));
}

std::string token_of(const app::Config& config, const std::string& owner, bool publishes_to_all) {
    auto token = retry::make_token(key_ring_of(config),
                                   {.owner = owner, .publishes_to_all = publishes_to_all});
    if (!token) throw app::StartupError(token.error().message);
    return *token;
}

}  // namespace beckon::tools
